/**
 * A process that runs test files of a sandbox on request. It keeps one Vitest, so that Vitest, PostgreSQL and the control
 * plane start only once. The parent process kills it when a run takes too long.
 */
import { BaseSequencer, createVitest, type TestModule, type TestSpecification } from 'vitest/node';
import { z } from 'zod';
import { Coverage, coverageFrom } from './coverage.ts';

/** Sent to the runner: this file has changed, run those test files, in this order, until one fails. All paths are absolute. */
const Order = z.object({ changed: z.string().optional(), tests: z.array(z.string()), measured: z.boolean() });
/** Sent back after each test file, and once when the runner is ready. */
export const Progress = z.object({ ended: z.string().optional() });
/**
 * Sent back at the end: the test file that failed, if any, with the name of the test; for a measured run, the parts of each
 * loaded file that it has not executed.
 */
export const Answer = z.object({
  failed: z.object({ file: z.string(), test: z.string() }).optional(),
  coverage: Coverage.optional(),
});

/** Replaces the name of a test when none has run. */
export const FILE_ITSELF = 'the file itself';

class AsOrdered extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }
}

const Thrown = z.object({ message: z.string() });

/** @param sources the files whose execution is measured, relative to `root` */
async function main(root: string, sources: readonly string[]): Promise<void> {
  let measured: unknown;
  let ended: TestModule[] = [];
  const vitest = await createVitest('test', {
    root,
    watch: false,
    bail: 1,
    maxWorkers: 1,
    // The files of a run share their modules; the worker ends with the run.
    isolate: false,
    sequence: { sequencer: AsOrdered },
    // Includes every tier: the caller decides which to run.
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    reporters: [
      {
        onCoverage(coverage) {
          measured = coverage;
        },
        onTestModuleEnd(module) {
          ended.push(module);
          process.send?.({ ended: module.moduleId });
        },
      },
    ],
    coverage: { provider: 'v8', include: [...sources], reporter: [], reportsDirectory: '.coverage' },
    // A mutant that hangs counts as killed. Tests that need longer set their own timeout.
    testTimeout: 10_000,
    hookTimeout: 60_000,
  });
  await vitest.standalone();
  const all = await vitest.globTestSpecifications();
  let changedBefore: string | undefined;

  async function run({
    changed,
    tests,
    measured: isMeasured,
  }: z.output<typeof Order>): Promise<z.output<typeof Answer>> {
    // The file of the run before has been restored.
    for (const file of new Set([changedBefore, changed])) if (file !== undefined) vitest.invalidateFile(file);
    changedBefore = changed;
    if (isMeasured) await vitest.enableCoverage();
    else vitest.disableCoverage();
    const specifications = tests.flatMap((test) => all.filter(({ moduleId }) => moduleId === test));
    if (specifications.length < tests.length) throw new Error(`not all are test files: ${tests.join(', ')}`);
    ended = [];
    const { unhandledErrors } = await vitest.rerunTestSpecifications(specifications);
    const module = ended.find((each) => !each.ok()) ?? (unhandledErrors.length > 0 ? ended.at(-1) : undefined);
    if (!module && ended.length === tests.length) return isMeasured ? { coverage: coverageFrom(measured, root) } : {};
    const [first] = module?.children.allTests('failed') ?? [];
    const [error] = [...(module?.errors() ?? []), ...unhandledErrors];
    const said = Thrown.safeParse(error).data?.message ?? 'none of its tests ran';
    const file = module?.moduleId ?? tests[ended.length] ?? '';
    return { failed: { file, test: first?.fullName ?? `${FILE_ITSELF}: ${said}` } };
  }

  process.on('message', async (message) => {
    process.send?.(await run(Order.parse(message)));
  });
  process.on('disconnect', () => vitest.exit(true));
  process.send?.({});
}

const [, script, root, ...sources] = process.argv;
if (script === import.meta.filename && root !== undefined) await main(root, sources);

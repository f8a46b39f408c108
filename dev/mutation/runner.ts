/**
 * A process that runs test files of a sandbox on request. It keeps one Vitest, so that Vitest, PostgreSQL and the control
 * plane start only once. The parent process kills it when a run takes too long.
 */
import { createVitest, type TestModule } from 'vitest/node';
import { z } from 'zod';
import { Coverage, coverageFrom } from './coverage.ts';

/** Sent to the runner: this file has changed, run those test files until one fails. All paths are absolute. */
const Order = z.object({ changed: z.string(), tests: z.array(z.string()), measure: z.boolean() });
/** Sent back when the runner is ready, and after each test file: whether that was the last. */
export const Answer = z.object({
  isLast: z.boolean(),
  failed: z.object({ file: z.string(), test: z.string() }).optional(),
  /** For a measured run: the parts of each loaded file that it has not executed. */
  coverage: Coverage.optional(),
});
type Answer = z.output<typeof Answer>;

const Thrown = z.object({ message: z.string() });

/** @param sources the files whose execution is measured, relative to `root` */
async function main(root: string, sources: readonly string[]): Promise<void> {
  const send = (answer: Answer) => process.send?.(answer);
  let measured: unknown;
  let ended: TestModule[] = [];
  const vitest = await createVitest('test', {
    root,
    watch: false,
    bail: 1,
    maxWorkers: 1,
    // The files of a run share their modules; the worker ends with the run.
    isolate: false,
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
          send({ isLast: false });
        },
      },
    ],
    coverage: { provider: 'v8', include: [...sources], reporter: [], reportsDirectory: '.coverage' },
    // A mutant that hangs counts as killed. Tests that need longer set their own timeout.
    testTimeout: 20_000,
    hookTimeout: 60_000,
  });
  await vitest.standalone();
  const all = await vitest.globTestSpecifications();
  let changedBefore = '';

  async function run({ changed, tests, measure }: z.output<typeof Order>): Promise<Answer> {
    // The file of the previous run has been restored.
    for (const file of new Set([changedBefore, changed])) vitest.invalidateFile(file);
    changedBefore = changed;
    if (measure) await vitest.enableCoverage();
    else vitest.disableCoverage();
    const specifications = tests.flatMap((test) => all.filter(({ moduleId }) => moduleId === test));
    if (specifications.length < tests.length) throw new Error(`not all are test files: ${tests.join(', ')}`);
    ended = [];
    const { unhandledErrors } = await vitest.rerunTestSpecifications(specifications);
    const module = ended.find((each) => !each.ok());
    if (!module && unhandledErrors.length === 0 && ended.length === tests.length) {
      return { isLast: true, ...(measure && { coverage: coverageFrom(measured, root) }) };
    }
    const [first] = module?.children.allTests('failed') ?? [];
    const [error] = [...(module?.errors() ?? []), ...unhandledErrors];
    const said = Thrown.safeParse(error).data?.message ?? 'none of its tests ran';
    const file = module?.moduleId ?? tests.find((test) => !ended.some(({ moduleId }) => moduleId === test)) ?? '';
    return { isLast: true, failed: { file, test: first?.fullName ?? `the file itself: ${said}` } };
  }

  process.on('message', async (message) => void send(await run(Order.parse(message))));
  process.on('disconnect', () => vitest.exit(true));
  send({ isLast: false });
}

const [, script, root, ...sources] = process.argv;
if (script === import.meta.filename && root !== undefined) await main(root, sources);

/**
 * A process that runs test files of a sandbox as often as it is told to, with one Vitest: its start, and that of
 * PostgreSQL and the control plane, are paid once. The process that forks it kills it when a run takes too long.
 */
import { createVitest } from 'vitest/node';
import { z } from 'zod';
import { Coverage, coverageFrom } from './coverage.ts';

/** Sent to the runner: this file has changed, run that test file. Both are absolute paths. */
export const Order = z.object({ changed: z.string().optional(), test: z.string(), measured: z.boolean() });
/**
 * Sent back, and once when the runner is ready: the name of the test that failed, if any; of a measured run, what it
 * has not executed of each file that it has loaded.
 */
export const Answer = z.object({ failed: z.string().optional(), coverage: Coverage.optional() });

/** In place of the name of a test, when none has run. */
export const FILE_ITSELF = 'the file itself';

const Thrown = z.object({ message: z.string() });

/**
 * @param named of the tests only those whose names match, if it is not empty.
 * @param sources the files whose execution is measured, relative to `root`.
 */
async function main(root: string, named: string, sources: readonly string[]): Promise<void> {
  let measured: unknown;
  const vitest = await createVitest('test', {
    root,
    watch: false,
    bail: 1,
    maxWorkers: 1,
    ...(named === '' ? {} : { testNamePattern: named }),
    reporters: [
      {
        onCoverage(coverage) {
          measured = coverage;
        },
      },
    ],
    coverage: { provider: 'v8', include: [...sources], reporter: [], reportsDirectory: '.coverage' },
    // A mutant that never answers is as dead as one that answers wrongly. Tests that need longer say so themselves.
    testTimeout: 10_000,
    hookTimeout: 60_000,
  });
  await vitest.standalone();
  const all = await vitest.globTestSpecifications();
  let changedBefore: string | undefined;

  async function run({
    changed,
    test,
    measured: isMeasured,
  }: z.output<typeof Order>): Promise<z.output<typeof Answer>> {
    // The file of the run before has been put back as it was.
    for (const file of new Set([changedBefore, changed])) if (file !== undefined) vitest.invalidateFile(file);
    changedBefore = changed;
    if (isMeasured) await vitest.enableCoverage();
    else vitest.disableCoverage();
    const specifications = all.filter(({ moduleId }) => moduleId === test);
    if (specifications.length === 0) throw new Error(`${test} is no test file`);
    const { testModules, unhandledErrors } = await vitest.rerunTestSpecifications(specifications);
    // Those of earlier runs are among them.
    const module = testModules.find(({ moduleId }) => moduleId === test);
    if (unhandledErrors.length === 0 && module?.ok()) {
      return isMeasured ? { coverage: coverageFrom(measured, root) } : {};
    }
    const [first] = module?.children.allTests('failed') ?? [];
    const [error] = [...(module?.errors() ?? []), ...unhandledErrors];
    const said = Thrown.safeParse(error).data?.message ?? 'none of its tests ran';
    return { failed: first?.fullName ?? `${FILE_ITSELF}: ${said}` };
  }

  process.on('message', async (message) => {
    process.send?.(await run(Order.parse(message)));
  });
  process.on('disconnect', () => vitest.exit(true));
  process.send?.({});
}

const [, script, root, named = '', ...sources] = process.argv;
if (script === import.meta.filename && root !== undefined) await main(root, named, sources);

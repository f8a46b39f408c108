/**
 * A process that runs test files of a sandbox on request. It keeps one Vitest, so that Vitest, PostgreSQL and the control
 * plane start only once. The parent process kills it when a run takes too long.
 */
import { createVitest } from 'vitest/node';
import { z } from 'zod';
import { Coverage, coverageFrom } from './coverage.ts';

/** Sent to the runner: this file has changed, run that test file. Both are absolute paths. */
const Order = z.object({ changed: z.string().optional(), test: z.string(), measured: z.boolean() });
/**
 * Sent back, and once when the runner is ready: the name of the test that failed, if any; for a measured run, the parts of
 * each loaded file that it has not executed.
 */
export const Answer = z.object({ failed: z.string().optional(), coverage: Coverage.optional() });

/** Replaces the name of a test when none has run. */
export const FILE_ITSELF = 'the file itself';

const Thrown = z.object({ message: z.string() });

/** @param sources the files whose execution is measured, relative to `root` */
async function main(root: string, sources: readonly string[]): Promise<void> {
  let measured: unknown;
  const vitest = await createVitest('test', {
    root,
    watch: false,
    bail: 1,
    maxWorkers: 1,
    // A worker that kept modules between runs would hide the mutation.
    isolate: true,
    // Includes every tier: the caller decides which to run.
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    reporters: [
      {
        onCoverage(coverage) {
          measured = coverage;
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

  async function run(order: z.output<typeof Order>): Promise<z.output<typeof Answer>> {
    const { changed, test } = order;
    // The file of the run before has been restored.
    for (const file of new Set([changedBefore, changed])) if (file !== undefined) vitest.invalidateFile(file);
    changedBefore = changed;
    if (order.measured) await vitest.enableCoverage();
    else vitest.disableCoverage();
    const specifications = all.filter(({ moduleId }) => moduleId === test);
    if (specifications.length === 0) throw new Error(`${test} is not a test file`);
    const { testModules, unhandledErrors } = await vitest.rerunTestSpecifications(specifications);
    // The list includes those of earlier runs.
    const module = testModules.find(({ moduleId }) => moduleId === test);
    if (unhandledErrors.length === 0 && module?.ok()) {
      return order.measured ? { coverage: coverageFrom(measured, root) } : {};
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

const [, script, root, ...sources] = process.argv;
if (script === import.meta.filename && root !== undefined) await main(root, sources);

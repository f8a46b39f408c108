/**
 * npm test [-- arguments of vitest]
 *
 * Runs the tests. Without `--all`, only some kinds and families are covered; `--deep` runs the deep tests instead. The output
 * ends with a line for each reason why tests were skipped, and a last line `N passed, N failed`, followed by `, N skipped` if
 * any were. Fails if any test failed, or none passed.
 */
import { parseCLI, type Reporter, startVitest, type TestCase, type TestModule, type TestSuite } from 'vitest/node';
import { z } from 'zod';
import { ensureControlPlaneBinaries } from './setup.ts';
import { type Summary, summaryLines } from './test-summary.ts';

/**
 * Errors outside a test (a file that does not load, a hook, an unhandled rejection) count as failures: they keep tests
 * from running.
 */
function summarize(modules: readonly TestModule[], errorsOutside: number): Summary {
  const skipped: Summary['skipped'][number][] = [];
  let passed = 0;
  let failed = errorsOutside;
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') passed++;
      else if (state === 'failed') failed++;
      else skipped.push(whySkipped(test));
    }
    for (const suite of [module, ...module.children.allSuites()]) if (suite.errors().length > 0) failed++;
  }
  return { passed, failed, skipped };
}

/** The note given to `context.skip`, or the `skipReason` of the test or of a suite around it (test/skip.ts). */
function whySkipped(test: TestCase): Summary['skipped'][number] {
  const result = test.result();
  if (result.state === 'skipped' && result.note !== undefined) return { reason: result.note };
  for (let at: TestCase | TestSuite | TestModule = test; at.type !== 'module'; at = at.parent) {
    const { skipReason } = z.object({ skipReason: z.string().optional() }).parse(at.meta());
    if (skipReason !== undefined) return { reason: skipReason };
  }
  return isFiltered ? { reason: 'not selected by --testNamePattern' } : { name: test.fullName };
}

const tiers = { '--all': 'TEST_ALL', '--deep': 'TEST_DEEP' };
const isTier = (argument: string): argument is keyof typeof tiers => Object.hasOwn(tiers, argument);
const args = process.argv.slice(2).filter((argument) => !isTier(argument));
for (const tier of process.argv.filter(isTier)) process.env[tiers[tier]] = '1';

let summary: Summary = { passed: 0, failed: 0, skipped: [] };
let crashed = 0;
let isFiltered = false;
let complete = false;
const counter: Reporter = {
  onTestRunEnd(modules, errors, reason) {
    summary = summarize(modules, errors.length);
    complete = reason !== 'interrupted';
  },
};

try {
  await ensureControlPlaneBinaries();
  const { filter, options } = parseCLI(['vitest', 'run', ...args]);
  isFiltered = options.testNamePattern !== undefined;
  // A `reporter` option, such as from --reporter, would replace the reporter that counts.
  // Passed as `exclude`, --exclude would replace what the configuration excludes: the deep tests would run.
  const { reporter, reporters = reporter ?? 'default', exclude = [], ...others } = options;
  const all = [reporters, counter].flat();
  const cliExclude = [exclude].flat();
  const vitest = await startVitest(filter, { ...others, cliExclude, watch: false, run: true, reporters: all });
  await vitest.close();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  crashed = 1;
}

const { passed } = summary;
const failed = summary.failed + crashed;
const ok = complete && failed === 0 && passed > 0 && !process.exitCode;
process.stdout.write(`${summaryLines({ ...summary, failed }).join('\n')}\n`, () => process.exit(ok ? 0 : 1));

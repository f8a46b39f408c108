/**
 * npm test [-- arguments of vitest]
 *
 * Runs the tests; `--deep` runs the deep ones instead. The last line is `N passed, N failed`, with `, N skipped` behind
 * it if there are any. Fails if any test failed, or none passed.
 */
import { parseCLI, type Reporter, startVitest, type TestModule } from 'vitest/node';
import { ensureControlPlaneBinaries } from './setup.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Errors outside of a test (a file that does not load, a hook, a lost promise) count as failures: tests did not run for them. */
function count(modules: readonly TestModule[], errorsOutside: number): Counts {
  const counts: Counts = { passed: 0, failed: errorsOutside, skipped: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') counts.passed++;
      else if (state === 'failed') counts.failed++;
      else counts.skipped++;
    }
    for (const suite of [module, ...module.children.allSuites()]) if (suite.errors().length > 0) counts.failed++;
  }
  return counts;
}

const args = process.argv.slice(2).filter((argument) => argument !== '--deep');
if (args.length < process.argv.length - 2) process.env.TEST_DEEP = '1';

const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
let complete = false;
const counter: Reporter = {
  onTestRunEnd(modules, errors, reason) {
    Object.assign(counts, count(modules, errors.length));
    complete = reason !== 'interrupted';
  },
};

try {
  await ensureControlPlaneBinaries();
  const { filter, options } = parseCLI(['vitest', 'run', ...args]);
  // Given as `reporter`, as --reporter is, they would take the place of the one that counts.
  const { reporter, reporters = reporter ?? 'default', ...others } = options;
  const all = [reporters, counter].flat();
  const vitest = await startVitest(filter, { ...others, watch: false, run: true, reporters: all });
  await vitest.close();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  counts.failed++;
}

const { passed, failed, skipped } = counts;
const line = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
const ok = complete && failed === 0 && passed > 0 && !process.exitCode;
process.stdout.write(line, () => process.exit(ok ? 0 : 1));

import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The tiers, each a superset of none: CONTRIBUTING.md says what belongs where. */
const deep = process.env.TEST_DEEP === '1';
const all = process.env.TEST_ALL === '1';
const DEEP = '**/*.deep.test.ts';
const ALL = '**/*.all.test.ts';

/** These files start clusters and programs, and take the longest however small they are. */
const LONGEST = /\/test\/(crash|e2e|chart|fuzz|api\/faults)\//;

/** The longest files first, so that at the end no worker waits for another that has just begun with one. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    include: deep ? [`test/${DEEP}`] : ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(deep ? [] : [DEEP]), ...(deep || all ? [] : [ALL])],
    globalSetup: ['test/global-setup.ts'],
    setupFiles: ['test/setup.ts'],
    // Child processes, which the files of a worker share: modules are loaded once, not once for each file.
    pool: 'forks',
    isolate: false,
    // What a CommonJS package exports is what Node says it exports, not what Vite guesses.
    deps: { interopDefault: false },
    // Of the test processes themselves, not of the programs that they start. By folder and line: coverage/index.html.
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
    // The control plane, Postgres and the programs under test want processors too.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // They end a wait for something that will not happen; a passing test takes a small part of it.
    testTimeout: deep ? 600_000 : 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
    teardownTimeout: 30_000,
  },
});

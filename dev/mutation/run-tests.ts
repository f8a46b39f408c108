/** Runs test files of a sandbox in a process, and starts a new process if that one was killed. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import type { Coverage } from './coverage.ts';
import { Answer } from './runner.ts';
import type { Sandbox } from './sandbox.ts';

export type Verdict =
  /** Killed by the test of that name in that file; without a file, by a timeout or the end of the process. */
  | { readonly outcome: 'killed'; readonly file: string; readonly by: string }
  /** Includes the coverage if the run was measured. */
  | { readonly outcome: 'survived'; readonly coverage?: Coverage | undefined };

export interface TestRunner {
  /**
   * Runs the test files until one fails, or hangs.
   * @param changed the file of the sandbox that was written since the last run
   */
  run(changed: string, tests: readonly string[], measure?: boolean): Promise<Verdict>;
  stop(): Promise<void>;
}

/** A test file that takes longer is hanging. */
const LONGEST_MS = 300_000;
const TIMEOUT = 'timeout';

/** @param sources the files whose coverage is of interest. */
export function testRunner(sandbox: Pick<Sandbox, 'root'>, sources: readonly string[] = []): TestRunner {
  let runner: Promise<ChildProcess> | undefined;
  const path = (file: string) => join(sandbox.root, file);

  async function start(): Promise<ChildProcess> {
    // Its own process group, so that everything a test has started dies with it.
    const started = fork(join(import.meta.dirname, 'runner.ts'), [sandbox.root, ...sources], {
      cwd: sandbox.root,
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
    });
    await once(started, 'message');
    return started;
  }

  /** Kills the group even if the runner itself has ended. */
  async function kill(): Promise<void> {
    const running = await runner;
    runner = undefined;
    if (running?.pid === undefined) return;
    const ended = running.exitCode === null && running.signalCode === null ? once(running, 'exit') : undefined;
    try {
      process.kill(-running.pid, 'SIGKILL');
    } catch {
      // The group has already ended.
    }
    await ended;
  }

  return {
    async run(changed, tests, measure = false) {
      runner ??= start();
      const running = await runner;
      const { promise, resolve } = Promise.withResolvers<Verdict>();
      const end = (by: string, file = '') => resolve({ outcome: 'killed', file, by });
      const timer = setTimeout(end, LONGEST_MS, TIMEOUT);
      const died = () => end('the process that runs the tests ended');
      const answered = (message: unknown) => {
        const { isLast, failed, coverage } = Answer.parse(message);
        timer.refresh();
        if (failed) end(failed.test, relative(sandbox.root, failed.file));
        else if (isLast) resolve({ outcome: 'survived', coverage });
      };
      running.once('exit', died).on('message', answered);
      running.send({ changed: path(changed), tests: tests.map(path), measure });
      const verdict = await promise;
      clearTimeout(timer);
      running.off('exit', died).off('message', answered);
      if (
        (verdict.outcome === 'killed' && verdict.by === TIMEOUT) ||
        running.exitCode !== null ||
        running.signalCode !== null
      )
        await kill();
      return verdict;
    },
    async stop() {
      const running = await runner;
      if (!running?.connected) return kill();
      const ended = once(running, 'exit');
      running.disconnect();
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20_000).unref())]);
      await kill();
    },
  };
}

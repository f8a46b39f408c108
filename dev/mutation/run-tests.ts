/** Runs test files of a sandbox in a process that may be killed, and starts a new one when it was. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Coverage } from './coverage.ts';
import { Answer } from './runner.ts';
import type { Sandbox } from './sandbox.ts';

export type Verdict =
  | { readonly outcome: 'killed'; readonly test: string }
  | { readonly outcome: 'timed out' }
  /** With the coverage of a run that was measured. */
  | { readonly outcome: 'survived'; readonly coverage?: Coverage | undefined };

export interface TestRunner {
  /** @param changed the file of the sandbox that was written since the last run, if any. */
  run(
    changed: string | undefined,
    test: string,
    timeoutMs: number,
    how?: { readonly measured: boolean },
  ): Promise<Verdict>;
  stop(): Promise<void>;
}

/**
 * @param sources the files whose coverage is of interest.
 * @param named of the tests of a file only those whose names match this pattern; all of them by default.
 */
export function testRunner(sandbox: Pick<Sandbox, 'root'>, sources: readonly string[] = [], named = ''): TestRunner {
  let runner: Promise<ChildProcess> | undefined;
  const path = (file: string) => join(sandbox.root, file);

  async function start(): Promise<ChildProcess> {
    // A group of its own: whatever a test has started dies with it.
    const started = fork(join(import.meta.dirname, 'runner.ts'), [sandbox.root, named, ...sources], {
      cwd: sandbox.root,
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
    });
    await once(started, 'message');
    return started;
  }

  /** Also what the runner has left behind, if it has ended by itself. */
  async function kill(): Promise<void> {
    const running = await runner;
    runner = undefined;
    if (running?.pid === undefined) return;
    const ended = running.exitCode === null && running.signalCode === null ? once(running, 'exit') : undefined;
    try {
      process.kill(-running.pid, 'SIGKILL');
    } catch {
      // There is nothing left.
    }
    await ended;
  }

  return {
    async run(changed, test, timeoutMs, { measured } = { measured: false }) {
      runner ??= start();
      const running = await runner;
      const answer = new Promise<Verdict>((resolve) => {
        const timer = setTimeout(() => resolve({ outcome: 'timed out' }), timeoutMs);
        const settle = (verdict: Verdict) => {
          clearTimeout(timer);
          running.off('exit', died);
          resolve(verdict);
        };
        const died = () => settle({ outcome: 'killed', test: 'the process that runs the tests ended' });
        running.once('exit', died);
        running.once('message', (message) => {
          const { failed, coverage } = Answer.parse(message);
          settle(failed === undefined ? { outcome: 'survived', coverage } : { outcome: 'killed', test: failed });
        });
      });
      running.send({ changed: changed === undefined ? undefined : path(changed), test: path(test), measured });
      const verdict = await answer;
      if (verdict.outcome === 'timed out' || running.exitCode !== null) await kill();
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

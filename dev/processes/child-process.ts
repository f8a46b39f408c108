/** Long-running child processes that never outlive the process that started them. */
import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { type WaitOptions, waitFor } from './wait.ts';

/** How a child exited. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface ChildOptions {
  /** For messages, e.g. `kube-apiserver`. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /**
   * Standard output and error are appended to this file, not piped through this process, which may be too busy to read.
   */
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** A folder that the watcher removes if this process dies before the child. */
  readonly removeOnLoss?: string;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** The exit, once there is one. The child does not keep this process alive; `stop` waits for its exit. */
  exit(): Exit | undefined;
  /** Resolves when it has exited; does not keep this process alive either. */
  readonly exited: Promise<Exit>;
  /** Sends a signal; does nothing if the process has exited. */
  kill(signal: NodeJS.Signals): void;
  /** Sends `signal` (SIGTERM), then SIGKILL after `graceMs` (5000); returns when the process has exited. */
  stop(options?: { readonly signal?: NodeJS.Signals; readonly graceMs?: number }): Promise<Exit>;
  /** The last `lines` (30) lines of its log. */
  logTail(lines?: number): string;
}

/**
 * Finally clauses and exit hooks do not run when a process is killed by SIGKILL, and macOS has no parent-death signal.
 * So a shell starts a watcher that reads from a pipe which only this process holds open, and then becomes the command
 * by `exec` (so that Node knows the command's pid). End of file means that this process is gone. The watcher is forked
 * twice, so that the command does not inherit an unknown child.
 */
const LIFELINE = `
folder=$1
shift
lose() {
  kill -KILL $$
  test -z "$folder" || { sleep 1; rm -rf -- "$folder"; }
}
( ( cd /; read -r line <&3 || lose ) </dev/null >/dev/null 2>&1 & )
exec 3<&-
exec "$@"
`;

/**
 * Starts a command that is killed when this process exits, however it exits.
 * @throws when the command cannot be spawned (an unknown command shows as an exit with code 127).
 */
export function startChild(options: ChildOptions): Child {
  const log = openSync(options.logFile, 'a');
  const { size: before } = fstatSync(log);
  const words = [options.removeOnLoss ?? '', options.command, ...options.args];
  const child = spawn('/bin/sh', ['-c', LIFELINE, options.name, ...words], {
    stdio: ['ignore', log, log, 'pipe'],
    // Its own process group: Ctrl-C in a terminal reaches only this process, which decides the order of the shutdown.
    detached: true,
    env: options.env ?? process.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  closeSync(log);
  const pid = child.pid;
  if (pid === undefined) throw new Error(`cannot start ${options.name}: /bin/sh was not spawned`);

  const lifeline = child.stdio[3];
  if (lifeline instanceof Socket) {
    lifeline.on('error', () => {});
    lifeline.unref();
  }
  child.unref();

  let ended: Exit | undefined;
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      ended = { code, signal };
      // A line tells the watcher that there is nothing left to kill: the pid may soon be reused.
      if (lifeline instanceof Socket) lifeline.end('\n');
      resolve(ended);
    });
  });

  return {
    name: options.name,
    pid,
    logFile: options.logFile,
    exit: () => ended,
    exited,
    kill: (signal) => {
      if (!ended) child.kill(signal);
    },
    stop: async ({ signal = 'SIGTERM', graceMs = 5000 } = {}) => {
      if (ended) return ended;
      child.ref();
      child.kill(signal);
      // A paused process handles SIGTERM only after it is resumed.
      child.kill('SIGCONT');
      const insist = setTimeout(() => child.kill('SIGKILL'), graceMs);
      const exit = await exited;
      clearTimeout(insist);
      return exit;
    },
    logTail: (lines = 30) => {
      const own = readFileSync(options.logFile).subarray(before).toString('utf8');
      return own.trimEnd().split('\n').slice(-lines).join('\n');
    },
  };
}

/** A child that exited while it was expected to start; the message includes the end of its log. */
export class ChildExited extends Error {
  override readonly name = 'ChildExited';
  constructor(child: Child, exit: Exit) {
    super(`${child.name} ended (code ${exit.code}, signal ${exit.signal}) while starting:\n${child.logTail()}`);
  }
}

/**
 * `waitFor` something that a child does while it runs.
 * @throws ChildExited as soon as it exits; WaitTimeout
 */
export function waitForChild<T>(
  child: Child,
  what: string,
  probe: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Exclude<T, undefined | false>> {
  const checked = () => {
    const exit = child.exit();
    if (exit) throw new ChildExited(child, exit);
    return probe();
  };
  const isFatal = (error: unknown) => error instanceof ChildExited;
  return waitFor(`${child.name} to ${what}`, checked, { ...options, isFatal });
}

import { readFileSync } from 'node:fs';

/**
 * When a process started, in units of the system; undefined if the system does not report it. Pids are reused, in a
 * container even by the next process that starts.
 */
export function startOf(pid: number): string | undefined {
  try {
    // Field 22 of proc(5). The second one is the name, in parentheses, which may have any character in it.
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[19];
  } catch {
    return undefined;
  }
}

/** Whether the process that started then still runs; if its start is unknown, whether any process has that pid. */
export function isStillRunning(pid: number, started: string | undefined): boolean {
  return isRunning(pid) && (started === undefined || [started, undefined].includes(startOf(pid)));
}

/** Whether a process runs; one that has ended and waits for its parent to notice (a zombie) does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  try {
    // The state follows the name, which is in parentheses and may have any character in it.
    return !/\) [ZX] [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    // Gone. Any other error (no descriptor left) says nothing about the process.
    return !(error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'));
  }
}

import { readFileSync } from 'node:fs';

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
    // Gone. Anything else (no descriptor left to read it with) says nothing about the process.
    return !(error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'));
  }
}

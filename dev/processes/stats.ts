import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

interface Process {
  readonly name: string;
  readonly pid: number;
}

export interface ProcessStats extends Process {
  /** Resident memory in bytes. */
  readonly residentBytes: number;
}

/** The current resource usage of these processes; those that exit meanwhile are left out. */
export async function processStats(processes: readonly Process[]): Promise<ProcessStats[]> {
  const read = async ({ name, pid }: Process) => {
    const residentBytes = await residentMemory(pid).catch(() => undefined);
    return residentBytes === undefined ? [] : [{ name, pid, residentBytes }];
  };
  return (await Promise.all(processes.map(read))).flat();
}

async function residentMemory(pid: number): Promise<number> {
  // Slim Linux images have no `ps`, macOS has no /proc; both count in KiB.
  const kib =
    process.platform === 'linux'
      ? /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
      : (await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)])).stdout.trim();
  return Number(kib) * 1024;
}

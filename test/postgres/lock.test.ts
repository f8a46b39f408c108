import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOf } from '../../src/postgres/is-running.ts';
import { withLock } from '../../src/postgres/lock.ts';

let directory = '';
let path = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lock-test-'));
  path = join(directory, 'lock');
});
afterEach(() => rm(directory, { recursive: true }));

const holder = (pid: number, host = hostname()) => JSON.stringify({ token: 'other', pid, host });

/** The id of a process that has just exited. */
function deadPid(): number {
  return spawnSync('true').pid;
}

/** Lets ten callers compete for the lock; returns how many held it at the same time. */
async function mostAtOnce(): Promise<number> {
  let inside = 0;
  let most = 0;
  const enter = async () => {
    most = Math.max(most, ++inside);
    await sleep(5);
    inside--;
  };
  await Promise.all(Array.from({ length: 10 }, () => withLock(path, enter, { intervalMs: 1 })));
  return most;
}

describe('a lock between processes', () => {
  it('lets one in at a time, and leaves nothing behind', async () => {
    expect(await mostAtOnce()).toBe(1);
    expect(await readdir(directory)).toEqual([]);
  });

  it('waits for a living holder, and reports its process id', async () => {
    await writeFile(path, holder(process.pid));
    const waitedFor: number[] = [];
    const onWait = (pid: number) => {
      waitedFor.push(pid);
      if (waitedFor.length === 3) void rm(path);
    };
    await withLock(path, async () => {}, { intervalMs: 5, onWait });
    expect(waitedFor.slice(0, 3)).toEqual([process.pid, process.pid, process.pid]);
  });

  it('breaks the lock of a dead process', async () => {
    await writeFile(path, holder(deadPid()));
    expect(await withLock(path, async () => 'done')).toBe('done');
    expect(await readdir(directory)).toEqual([]);
  });

  it.runIf(startOf(process.pid))('breaks the lock of a process whose id has been reused', async () => {
    await writeFile(path, JSON.stringify({ token: 'other', pid: process.pid, started: '1', host: hostname() }));
    expect(await withLock(path, async () => 'done')).toBe('done');
  });

  it('lets one in at a time even when all find a dead holder', async () => {
    for (let round = 0; round < 20; round++) {
      await writeFile(path, holder(deadPid()));
      expect(await mostAtOnce()).toBe(1);
    }
    expect(await readdir(directory)).toEqual([]);
  });

  it('breaks the lock of another host only if it has not been touched for a long time', async () => {
    await writeFile(path, holder(1, 'elsewhere'));
    const waited: number[] = [];
    const onWait = () => {
      if (waited.push(1) === 2) void utimes(path, new Date(), new Date(Date.now() - 120_000));
    };
    await withLock(path, async () => {}, { intervalMs: 5, onWait });
    expect(waited.length).toBeGreaterThanOrEqual(2);
  });

  it('is released when the action fails', async () => {
    const failing = withLock(path, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(await readdir(directory)).toEqual([]);
  });
});

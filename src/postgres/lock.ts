/**
 * A lock file between processes: one builds or starts a server, and the others wait. Not `proper-lockfile`, which can let
 * two in after a holder has died: docs/decisions/0008-own-lock-of-the-binaries.md.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../errors.ts';
import { isStillRunning, startOf } from './is-running.ts';

/** A holder touches its lock this often … */
const HEARTBEAT_MS = 5_000;
/**
 * … and if its pid cannot be checked (another host or container), it counts as dead after not doing so for this long.
 */
const STALE_MS = 60_000;

interface Holder {
  readonly token: string;
  readonly pid: number;
  /** The result of `startOf`. */
  readonly started: string | undefined;
  readonly host: string;
}

export interface LockOptions {
  /** Called repeatedly with the holder's pid while waiting. */
  readonly onWait?: (pid: number) => void;
  readonly intervalMs?: number;
}

/**
 * Runs `action` while holding the lock file at `path`, whose folder must exist. Waits indefinitely for a live holder;
 * breaks the lock of a dead one.
 */
export async function withLock<T>(path: string, action: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const own: Holder = { token: randomUUID(), pid: process.pid, started: startOf(process.pid), host: hostname() };
  while (!(await tryLock(path, own))) {
    const holder = await readHolder(path);
    if (holder !== undefined && (await isDead(path, holder))) await breakLock(path, holder);
    else {
      if (holder !== undefined) options.onWait?.(holder.pid);
      await sleep(options.intervalMs ?? 250);
    }
  }
  const heartbeat = setInterval(() => utimes(path, new Date(), new Date()).catch(() => {}), HEARTBEAT_MS);
  try {
    return await action();
  } finally {
    clearInterval(heartbeat);
    if ((await readHolder(path))?.token === own.token) await rm(path, { force: true });
  }
}

/** Links a complete file into place, so that no process ever reads half a lock. */
async function tryLock(path: string, own: Holder): Promise<boolean> {
  const draft = `${path}.${own.token}`;
  await writeFile(draft, JSON.stringify(own));
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Undefined when the lock has just been released. */
async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    const { token, pid, started, host } = JSON.parse(await readFile(path, 'utf8'));
    return { token: String(token), pid: Number(pid), started: started && String(started), host: String(host) };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    // Cut off by a power failure. It gets no valid holder, so that its age decides.
    if (error instanceof SyntaxError) return { token: '', pid: 0, started: undefined, host: '' };
    throw error;
  }
}

async function isDead(path: string, holder: Holder): Promise<boolean> {
  if (holder.host === hostname() && !isStillRunning(holder.pid, holder.started)) return true;
  return isStale(path);
}

async function isStale(path: string): Promise<boolean> {
  const touched = await stat(path).catch(() => undefined);
  return touched !== undefined && Date.now() - touched.mtimeMs > STALE_MS;
}

/**
 * Removes the dead holder's lock and no other. Only one process at a time may do so: otherwise one that looked earlier
 * could remove the lock that the next holder has just taken.
 */
async function breakLock(path: string, dead: Holder): Promise<void> {
  const breaking = `${path}.breaking`;
  try {
    await mkdir(breaking);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    // Left by a process that died in the middle of the few lines below.
    if (await isStale(breaking)) await rm(breaking, { recursive: true, force: true });
    return;
  }
  try {
    if ((await readHolder(path))?.token === dead.token) await rm(path, { force: true });
  } finally {
    await rm(breaking, { recursive: true, force: true });
  }
}

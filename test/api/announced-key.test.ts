/** The first API key on a standard error that takes it slowly, in part or not at all. */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { openDatabase } from '../../src/api/store/database.ts';
import { createTestDatabase } from '../harness.ts';
import { atEnd } from './harness.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const KEY = /\n {2}tnl_ak_\w{43}\n/;

const folder = await mkdtemp(join(tmpdir(), 'announced-key-'));
atEnd(() => rm(folder, { recursive: true, force: true }));

/**
 * Starts the API.
 * @param before a command of the shell that starts it
 * @param stderr its standard error: a descriptor, or a redirection of the shell; default: a pipe that is read
 */
function started(databaseUrl: string, { before = '', stderr = '' as string | number } = {}) {
  const redirection = typeof stderr === 'string' ? stderr : '';
  const child = spawn('/bin/sh', ['-c', `${before} exec "$@" ${redirection}`, '', process.execPath, MAIN, 'api'], {
    cwd: folder,
    env: { PATH: process.env.PATH, LOG_FORMAT: 'json', DATABASE_URL: databaseUrl, PORT: '0' },
    stdio: ['ignore', 'pipe', typeof stderr === 'string' ? 'pipe' : stderr],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout?.on('data', (part) => void out.push(String(part)));
  child.stderr?.on('data', (part) => void err.push(String(part)));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    out: () => out.join(''),
    err: () => err.join(''),
    ended,
    async untilReady() {
      await waitFor('the API to be ready', () => out.join('').includes('is ready'), { timeoutMs: 60_000 });
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    },
  };
}

/** Nobody has used up the only chance to see one. */
async function expectKeyAtNextStart(databaseUrl: string) {
  const next = started(databaseUrl);
  await next.untilReady();
  expect(next.err()).toMatch(KEY);
}

/** In the log, for nobody may be able to read it elsewhere. */
const cannotPrint = (code: string) =>
  new RegExp(`"level":50,.*"msg":"the first API key could not be printed to standard error: ${code}`);

test('a disk that is full keeps the API from starting, and the key from being made', async () => {
  const databaseUrl = await createTestDatabase();
  const failed = started(databaseUrl, { stderr: '2>/dev/full' });
  expect(await failed.ended).toBe(1);
  expect(failed.out()).toMatch(cannotPrint('ENOSPC'));
  expect(failed.out()).not.toContain('DATABASE_URL');
  await expectKeyAtNextStart(databaseUrl);
});

test('so does one that becomes full in the middle of the key', async () => {
  const databaseUrl = await createTestDatabase();
  const file = join(folder, 'nearly-full');
  // Room for some of the key. The limit is one block of the shell.
  const [limit, room] = [512, 110];
  writeFileSync(file, '.'.repeat(limit - room));
  const failed = started(databaseUrl, { before: 'ulimit -f 1;', stderr: `2>>${file}` });
  expect(await failed.ended).toBe(1);
  expect(readFileSync(file, 'utf8')).toHaveLength(limit);
  expect(readFileSync(file, 'utf8')).toMatch(/tnl_ak_\w{1,42}$/);
  expect(failed.out()).toMatch(cannotPrint('EFBIG'));
  await expectKeyAtNextStart(databaseUrl);
});

/** A pipe that does not make its writers wait. */
function emptyPipe() {
  const path = join(folder, `pipe-${randomUUID()}`);
  execFileSync('mkfifo', [path]);
  return { path, descriptor: openSync(path, constants.O_RDWR | constants.O_NONBLOCK) };
}

function fullPipe() {
  const { descriptor } = emptyPipe();
  onTestFinished(() => closeSync(descriptor));
  for (const size of [4_096, 1]) while (orNothing(() => writeSync(descriptor, '.'.repeat(size))) > 0);
  const bytes = Buffer.alloc(65_536);
  const read = () => {
    const size = orNothing(() => readSync(descriptor, bytes));
    return bytes.toString('utf8', 0, size);
  };
  return { descriptor, read };
}

function orNothing(act: () => number): number {
  try {
    return act();
  } catch (error) {
    expect(error).toMatchObject({ code: 'EAGAIN' });
    return 0;
  }
}

test('a pipe that is full for a while is waited for', async () => {
  const databaseUrl = await createTestDatabase();
  const pipe = fullPipe();
  const waiting = started(databaseUrl, { stderr: pipe.descriptor });
  await untilKeyIsMade(databaseUrl);
  let seen = '';
  const reading = waitFor('the key', () => {
    seen += pipe.read();
    return KEY.test(seen);
  });
  await waiting.untilReady();
  await reading;
});

test('a pipe that stays full keeps the API from starting, and the key from being made', {
  timeout: 60_000,
}, async () => {
  const databaseUrl = await createTestDatabase();
  const failed = started(databaseUrl, { stderr: fullPipe().descriptor });
  expect(await failed.ended).toBe(1);
  expect(failed.out()).toMatch(cannotPrint('EAGAIN'));
  await expectKeyAtNextStart(databaseUrl);
});

test('so does one that nobody reads any more', async () => {
  const databaseUrl = await createTestDatabase();
  const { descriptor: reader, path } = emptyPipe();
  const stderr = openSync(path, 'a');
  onTestFinished(() => closeSync(stderr));
  closeSync(reader);
  const failed = started(databaseUrl, { stderr });
  expect(await failed.ended).toBe(1);
  expect(failed.out()).toMatch(cannotPrint('EPIPE'));
  await expectKeyAtNextStart(databaseUrl);
});

/** Resolves when its transaction has waited for whoever is to show it for long enough that they must have tried. */
async function untilKeyIsMade(databaseUrl: string): Promise<void> {
  const db = openDatabase({ url: databaseUrl, poolSize: 1, statementTimeoutMs: 10_000, connectTimeoutMs: 5_000 });
  const text = `select 1 from pg_stat_activity
    where datname = current_database() and state = 'idle in transaction' and query ~ 'insert|api_keys'
      and state_change < now() - interval '300 ms'`;
  await waitFor('a key that is not committed', async () => (await db.query({ text, values: [] })).length > 0, {
    intervalMs: 20,
    timeoutMs: 60_000,
  });
  await db.close();
}

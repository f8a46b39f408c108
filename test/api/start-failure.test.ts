/** Starts that cannot succeed, as the user sees them: one line that names the setting. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, escapeIdentifier } from 'pg';
import { expect, test } from 'vitest';
import { startApi } from '../../src/api/server.ts';
import type { ApiConfig } from '../../src/api/settings.ts';
import { CannotStart } from '../../src/settings/cannot-start.ts';
import { BadSettings } from '../../src/settings/settings.ts';
import { atEnd } from '../end-of-file.ts';
import { createTestDatabase } from '../harness.ts';
import { emptyDatabase } from './harness.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

const folder = await mkdtemp(join(tmpdir(), 'start-failure-'));
atEnd(() => rm(folder, { recursive: true, force: true }));
const file = join(folder, 'file');
await writeFile(file, '');
const databaseUrl = await emptyDatabase();
const taken = await listening(() => undefined);

/** Starts a server on loopback that handles connections with `serve`; returns its port. */
async function listening(serve: Parameters<typeof createServer>[1] & {}): Promise<number> {
  const server = createServer(serve).listen(0, '127.0.0.1');
  atEnd(() => new Promise((closed) => server.close(closed)));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const at = (change: Partial<Pick<URL, 'port' | 'hostname' | 'password' | 'pathname'>>, url = databaseUrl) =>
  Object.assign(new URL(url), change).href;

/** The URL of a proxy to the database that resets a connection if `isReset` is true for its number, from 1. */
async function breaking(url: string, isReset: (count: number) => boolean): Promise<string> {
  const { port, hostname } = new URL(url);
  let count = 0;
  const way = await listening((socket) => {
    if (isReset(++count)) return socket.resetAndDestroy();
    socket.pipe(connect(Number(port), hostname)).pipe(socket);
  });
  return at({ port: String(way) }, url);
}

/** A database in an encoding that has only the letters of western Europe. */
async function inLatin1(): Promise<string> {
  const url = await createTestDatabase();
  const name = escapeIdentifier(new URL(url).pathname.slice(1));
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`drop database ${name}`);
    await client.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
  } finally {
    await client.end();
  }
  return url;
}

interface Outcome {
  code: number;
  out: string;
  err: string;
}

/** Runs the program until it ends by itself, or ends it when its output matches `until`. */
function run(args: string[], env: Record<string, string>, until?: RegExp, { redirected = '' } = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    const words = ['-c', `exec "$0" "$@" ${redirected}`, process.execPath, MAIN, ...args];
    const options = { env: { PATH: process.env.PATH, LOG_FORMAT: 'json', ...env }, cwd: folder };
    const child = execFile('/bin/sh', words, options, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    );
    let seen = '';
    const look = (part: unknown) => {
      seen += String(part);
      // Only once: a second signal would end it immediately, with code 1.
      if (!child.killed && until?.test(seen)) child.kill('SIGTERM');
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    atEnd(async () => void child.kill('SIGKILL'));
  });
}

test.each<[string, () => Promise<Partial<ApiConfig>> | Partial<ApiConfig>, RegExp]>([
  ['a port in use', () => ({ port: taken }), /^PORT: port \d+ of 127\.0\.0\.1 is in use/],
  ['a port for the metrics in use', () => ({ metricsPort: taken }), /^METRICS_PORT: port \d+ of .* is in use/],
  ['an address of another machine', () => ({ host: '192.0.2.1' }), /^HOST: "192\.0\.2\.1" is not/],
  ['a host name that does not exist', () => ({ host: 'no.such.invalid' }), /^HOST: "no\.such\.invalid" is not/],
  ['a port without a database', () => ({ databaseUrl: at({ port: '1' }) }), /^DATABASE_URL: .*:1\/.*ECONNREFUSED/],
  [
    'a database host that does not exist',
    () => ({ databaseUrl: at({ hostname: 'no.such.invalid' }) }),
    /^DATABASE_URL: .*(ENOTFOUND|EAI_AGAIN)/,
  ],
  [
    'a missing CA certificate for the database',
    () => ({ databaseUrl: `${databaseUrl}?sslrootcert=/nowhere.pem` }),
    /^DATABASE_URL: .*ENOENT.*nowhere\.pem/,
  ],
  [
    'a wrong password',
    () => ({ databaseUrl: at({ password: 'not-this-one' }) }),
    /^DATABASE_URL: .*password authentication failed/,
  ],
  [
    'a database that cannot store every text',
    async () => ({ databaseUrl: await inLatin1() }),
    /^DATABASE_URL: .*: it is encoded in LATIN1 and must be in UTF8; .* createdb --encoding=UTF8 /,
  ],
  ['a missing database', () => ({ databaseUrl: at({ pathname: '/nothing_here' }) }), /^DATABASE_URL: .*does not exist/],
  [
    'a database that goes away during the start',
    // The first connection runs the migrations.
    async () => ({ databaseUrl: await breaking(databaseUrl, (count) => count > 1) }),
    /^DATABASE_URL: cannot use the database at .*ECONNRESET/,
  ],
  [
    'a data directory that cannot be created',
    () => ({ databaseUrl: undefined, dataDir: join(file, 'data') }),
    /^DATA_DIR: .*(ENOTDIR|EEXIST)/,
  ],
])('a start that fails because of %s names the setting', async (_, config, message) => {
  const failed = startApi({ databaseUrl, port: 0, ...(await config()) });
  await expect(failed).rejects.toThrow(CannotStart);
  await expect(failed).rejects.toThrow(message);
  for (const secret of [new URL(databaseUrl).password, 'not-this-one', '\n'])
    await expect(failed).rejects.not.toThrow(secret);
});

test('a shutdown delay that leaves no time for the rest of the stop is refused', async () => {
  await expect(startApi({ databaseUrl, port: 0, shutdownDelayMs: 23_000 })).rejects.toThrow(BadSettings);
});

test('one key for the admin and the operator is refused', async () => {
  const key = 'tnl_ak_given_0123456789012345678901234';
  await expect(startApi({ databaseUrl, port: 0, bootstrapApiKey: key, operatorApiKey: key })).rejects.toThrow(
    new BadSettings("OPERATOR_API_KEY must differ from BOOTSTRAP_API_KEY, which is an admin's key"),
  );
});

const kubeconfig = {
  clusters: [{ name: 'x', cluster: { server: 'http://127.0.0.1:1' } }],
  users: [{ name: 'x', user: { token: 'x' } }],
  contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
  'current-context': 'x',
};

test.each<[string, Record<string, string>, RegExp]>([
  ['api', { DATABASE_URL: databaseUrl, PORT: String(taken) }, /^PORT: port \d+ of 127\.0\.0\.1 is in use/],
  ['migrate', { DATABASE_URL: at({ pathname: '/nothing_here' }) }, /^DATABASE_URL: .*does not exist/],
  [
    'worker',
    { DATABASE_URL: await createTestDatabase(), ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') },
    /^DATABASE_URL: .*it lacks migrations of this release \(\d+\): run "tunnel-operator migrate"/,
  ],
  [
    'rotate-encryption',
    { DATABASE_URL: at({ port: '1' }), ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') },
    /^DATABASE_URL: .*ECONNREFUSED/,
  ],
  [
    'operator',
    {
      KUBECONFIG: join(folder, 'kubeconfig'),
      TUNNEL_API_URL: 'http://127.0.0.1:1',
      TUNNEL_API_KEY: 'tnl_ak_given_0123456789012345678901234',
      METRICS_HOST: '127.0.0.1',
      METRICS_PORT: String(taken),
    },
    /^METRICS_PORT: port \d+ of 127\.0\.0\.1 is in use/,
  ],
])('%s says in one line why it cannot run', async (name, env, line) => {
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
  const { code, err } = await run([name], env);
  expect(code).toBe(1);
  expect(err).toMatch(/^tunnel-operator failed: [^\n]*\n$/);
  expect(err.replace('tunnel-operator failed: ', '')).toMatch(line);
});

test('a failed start does not lose the first key: the next start shows it, once', async () => {
  const fresh = await emptyDatabase();
  const shown: string[] = [];
  const start = (port: number) => startApi({ databaseUrl: fresh, port }, undefined, (key) => void shown.push(key));
  await expect(start(taken)).rejects.toThrow(/PORT: port/);
  expect(shown).toEqual([]);
  for (let n = 0; n < 2; n++) await (await start(0)).stop();
  expect(shown).toHaveLength(1);
});

test.runIf(existsSync('/dev/full'))('no first key is created if it cannot be written to standard error', async () => {
  const settings = { DATABASE_URL: await emptyDatabase(), PORT: '0' };
  const failed = await run(['api'], settings, /is ready/, { redirected: '2>/dev/full' });
  expect(failed.code).toBe(1);
  expect(failed.out).toMatch(/"level":50,.*ENOSPC.*BOOTSTRAP_API_KEY/);
  const { code, err } = await run(['api'], settings, /is ready/);
  expect(code).toBe(0);
  expect(err).toMatch(/\n {2}tnl_ak_\w{43}\n/);
});

test('migrate waits for a database that is not there yet', async () => {
  // At first it leads nowhere, like a Service whose Pod is starting.
  const DATABASE_URL = await breaking(await createTestDatabase(), (count) => count <= 2);
  const { code, out, err } = await run(['migrate', '--wait', '30s'], { DATABASE_URL });
  expect(err).toMatch(/^tunnel-operator failed: DATABASE_URL: .*ECONNRESET.*; trying again\n$/);
  expect(out).toContain('applied 0001');
  expect(code).toBe(0);
});

// As process 1 of a container, it would not be ended by the default action of the signal.
test('migrate ends on the signal that stops a container', async () => {
  const { code } = await run(['migrate', '--wait', '1h'], { DATABASE_URL: at({ port: '1' }) }, /trying again/);
  expect(code).toBe(143);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../dev/processes/wait.ts';
import { startApi } from '../../src/api/server.ts';
import { startEmbeddedPostgres } from '../../src/postgres/embedded.ts';
import { atEnd } from '../end-of-file.ts';

const KEY = 'tnl_ak_given_0123456789012345678901234';
const root = await mkdtemp(join(tmpdir(), 'embedded-'));
// If the tests run as root, the server runs as another user, who needs access to the folder.
await chmod(root, 0o755);
const dataDir = join(root, 'data', 'postgres');
atEnd(() => rm(root, { recursive: true, force: true }));

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Starts the server from another process, which then runs the code `then`. */
function starting(folder: string, then: string, env: NodeJS.ProcessEnv = process.env) {
  const module = new URL('../../src/postgres/embedded.ts', import.meta.url).href;
  const script = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
    const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(folder)} });
    ${then}`;
  return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'], env });
}

test('the server starts in an empty folder, keeps its data over a restart, and ends when stopped', async () => {
  await mkdir(dataDir, { recursive: true });
  const first = await startEmbeddedPostgres({ dataDir });
  await query(first.url, 'create table kept as select 42 as n');

  expect(await query(first.url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  const stranger = first.url.replace(/:[^:@]+@/, '@');
  await expect(query(stranger, 'select 1')).rejects.toThrow(/password|SASL/);

  // Nothing rotates the log, so errors of clients must not be in it.
  const log = () => readFile(join(dataDir, 'server.log'), 'utf8');
  const before = await log();
  expect(before).toContain('ready to accept connections');
  await expect(query(first.url, 'select 1 / 0')).rejects.toThrow('division by zero');
  await query(first.url, 'checkpoint');
  expect(await log()).toBe(before);

  const lock = await readFile(join(dataDir, 'postmaster.pid'), 'utf8');
  await first.stop();
  await expect(query(first.url, 'select 1')).rejects.toThrow();

  // A stale lock file whose process id now belongs to another process.
  await writeFile(join(dataDir, 'postmaster.pid'), lock.replace(/^\d+/, String(process.pid)));
  const second = await startEmbeddedPostgres({ dataDir });
  expect(await query(second.url, 'select n from kept')).toEqual([{ n: 42 }]);

  // A second start shares the server, and does not stop it.
  await writeFile(join(dataDir, 'tunnel-operator.owner'), `${process.ppid}\n`);
  const guest = await startEmbeddedPostgres({ dataDir });
  expect(guest.url).toBe(second.url);
  await guest.stop();
  expect(await query(second.url, 'select 1 as ok')).toEqual([{ ok: 1 }]);
  await second.stop();
});

test('a server whose starter was killed is found and taken over, even if the process id is reused', async () => {
  const env = { ...process.env, ENCRYPTION_KEY: 'hidden', PGSSLMODE: 'require' };
  const child = starting(dataDir, 'process.stdout.write(server.url); process.stdin.resume();', env);
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  await writeFile(join(dataDir, 'tunnel-operator.owner'), `${process.ppid} 1\n`);
  const said: string[] = [];
  const server = await startEmbeddedPostgres({ dataDir, log: (message) => said.push(message) });
  expect(said.join()).toMatch(/using the PostgreSQL that is already running/);
  // The server has not inherited the environment.
  const [pid] = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n');
  if (existsSync('/proc/self/environ')) expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toContain('hidden');
  await server.stop();
  await expect(query(server.url, 'select 1')).rejects.toThrow();
});

test('of several simultaneous starts, one starts the server and the others join, even while it stops', async () => {
  const stopWhenTold = `
    console.log(server.url);
    process.stdin.resume().once('end', () => server.stop().then(() => process.exit()));`;
  const children = Array.from({ length: 2 }, () => starting(dataDir, stopWhenTold));
  atEnd(async () => children.forEach((child) => void child.kill('SIGKILL')));
  const urls = await Promise.all(children.map(async (child) => String((await once(child.stdout, 'data'))[0])));
  expect(new Set(urls).size).toBe(1);
  for (const child of children) child.stdin.end();
  const late = startEmbeddedPostgres({ dataDir });
  for (const child of children) if (child.exitCode === null) await once(child, 'exit');
  await (await late).stop();
  expect(children.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
});

test.each(['postgres', ''])('a folder that holds something else is refused and left alone (%j)', async (below) => {
  const folder = join(root, 'of-somebody');
  await mkdir(join(folder, 'postgres'), { recursive: true });
  const file = join(folder, below, 'kept.txt');
  await writeFile(file, 'kept');
  await expect(startApi({ dataDir: join(folder, below), port: 0 })).rejects.toThrow(
    new RegExp(`^DATA_DIR: .*/of-somebody/?${below} is not empty, .* such as ${join(folder, below, 'postgres')}$`),
  );
  expect(await readFile(file, 'utf8')).toBe('kept');
});

test('a server that dies is started again, and the API recovers', async () => {
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const api = await startApi({ dataDir: dataDir, port: 0, bootstrapApiKey: KEY }, logger);
  atEnd(api.stop);
  const call = (method: string) =>
    fetch(`${api.listening}/ip_policies`, { method, headers: { authorization: `Bearer ${KEY}` } });
  expect((await call('POST')).status).toBe(201);
  const pid = Number((await readFile(join(api.dataDir ?? '', 'postmaster.pid'), 'utf8')).split('\n')[0]);
  process.kill(pid, 'SIGKILL');
  const seen = new Set<number>();
  await waitFor('the database', async () => {
    const { status } = await call('GET');
    seen.add(status);
    return status === 200 && logs.some((line) => line.includes('PostgreSQL is running again'));
  });
  expect([...seen].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  const list = z.object({ ip_policies: z.array(z.unknown()) }).parse(await (await call('GET')).json());
  expect(list.ip_policies).toHaveLength(1);
  await api.stop();
  expect(logs.join()).toMatch(/PostgreSQL has died; starting it again/);
  await expect(query(api.databaseUrl, 'select 1')).rejects.toThrow(/ECONNREFUSED/);
});

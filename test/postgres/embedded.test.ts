import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../dev/processes/wait.ts';
import { startApi } from '../../src/api/server.ts';
import { startEmbeddedPostgres } from '../../src/postgres/embedded.ts';
import { atEnd } from '../end-of-file.ts';

const KEY = 'tnl_ak_given_0123456789012345678901234';
const root = await mkdtemp(join(tmpdir(), 'embedded-'));
// As root, the server runs as another user, who must get there.
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

/** Another process that starts the server, with what it does then. */
function starting(folder: string, then: string, env: NodeJS.ProcessEnv = process.env) {
  const module = new URL('../../src/postgres/embedded.ts', import.meta.url).href;
  const script = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
    const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(folder)} });
    ${then}`;
  return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'], env });
}

/** Another process that starts the server and is then killed, without a chance to stop it. */
async function startAndDie(): Promise<void> {
  const child = starting(dataDir, "process.kill(process.pid, 'SIGKILL');");
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
}

describe('the embedded PostgreSQL', () => {
  test('starts from nothing, keeps its data over a restart, and is gone when stopped', async () => {
    const first = await startEmbeddedPostgres({ dataDir });
    await query(first.url, 'create table kept as select 42 as n');
    await first.stop();
    await expect(query(first.url, 'select 1')).rejects.toThrow();
    const second = await startEmbeddedPostgres({ dataDir });
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 42 }]);
    await second.stop();
  });

  test('keeps what clients do wrong out of its log, which nobody rotates', async () => {
    const server = await startEmbeddedPostgres({ dataDir });
    const log = () => readFile(join(dataDir, 'server.log'), 'utf8');
    const before = await log();
    expect(before).toContain('ready to accept connections');
    await expect(query(server.url, 'select 1 / 0')).rejects.toThrow('division by zero');
    await query(server.url, 'checkpoint');
    expect(await log()).toBe(before);
    await server.stop();
  });

  test('listens on loopback only, and lets nobody in without the password', async () => {
    const server = await startEmbeddedPostgres({ dataDir });
    expect(await query(server.url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    const { username, port } = new URL(server.url);
    await expect(query(`postgres://${username}@127.0.0.1:${port}/postgres`, 'select 1')).rejects.toThrow(
      /password|SASL/,
    );
    await server.stop();
  });

  test('is found again, and owned, when the process that started it was killed', async () => {
    await startAndDie();
    const said: string[] = [];
    const server = await startEmbeddedPostgres({ dataDir, log: (message) => said.push(message) });
    expect(said.join()).toMatch(/using the PostgreSQL that is already running/);
    expect(await query(server.url, 'select 1 as ok')).toEqual([{ ok: 1 }]);
    await server.stop();
    await expect(query(server.url, 'select 1')).rejects.toThrow();
  });

  test('is shared by a second start, which does not stop it', async () => {
    const owner = await startEmbeddedPostgres({ dataDir });
    await writeFile(join(dataDir, 'tunnel-operator.owner'), `${process.ppid}\n`);
    const guest = await startEmbeddedPostgres({ dataDir });
    expect(guest.url).toBe(owner.url);
    await guest.stop();
    expect(await query(owner.url, 'select 1 as ok')).toEqual([{ ok: 1 }]);
    await owner.stop();
  });

  test('is owned by whoever finds it, when the number of the process that started it is used again', async () => {
    await startAndDie();
    await writeFile(join(dataDir, 'tunnel-operator.owner'), `${process.ppid} 1\n`);
    const server = await startEmbeddedPostgres({ dataDir });
    await server.stop();
    await expect(query(server.url, 'select 1')).rejects.toThrow();
  });

  test.runIf(existsSync('/proc/self/environ'))(
    'is told nothing that this process knows, and takes nothing from its environment',
    async () => {
      const env = { ...process.env, ENCRYPTION_KEY: 'hidden', PGSSLMODE: 'require' };
      const child = starting(dataDir, 'process.stdout.write(server.url); process.stdin.resume();', env);
      const [url] = await once(child.stdout, 'data');
      const [{ pid }] = z
        .tuple([z.object({ pid: z.string() })])
        .parse(await query(String(url), "select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid"));
      expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toContain('hidden');
      child.kill('SIGKILL');
      await once(child, 'exit');
      const server = await startEmbeddedPostgres({ dataDir });
      await server.stop();
    },
  );

  test('recovers from a lock file of a process that is something else by now', async () => {
    const first = await startEmbeddedPostgres({ dataDir });
    const lock = await readFile(join(dataDir, 'postmaster.pid'), 'utf8');
    await first.stop();
    await writeFile(join(dataDir, 'postmaster.pid'), lock.replace(/^\d+/, String(process.pid)));
    const second = await startEmbeddedPostgres({ dataDir });
    expect(await query(second.url, 'select 1 as ok')).toEqual([{ ok: 1 }]);
    await second.stop();
  });
});

test('of several that start it at once, one starts it and the others join, also while it stops', async () => {
  const folder = join(root, 'at-once', 'postgres');
  const stopWhenTold = `
    console.log(server.url);
    process.stdin.resume().once('end', () => server.stop().then(() => process.exit()));`;
  for (let round = 1; round <= 3; round++) {
    const children = Array.from({ length: 3 }, () => starting(folder, stopWhenTold));
    atEnd(async () => children.forEach((child) => void child.kill('SIGKILL')));
    const urls = await Promise.all(children.map(async (child) => String((await once(child.stdout, 'data'))[0])));
    expect(new Set(urls).size).toBe(1);
    const [url = ''] = urls;
    expect(await query(url.trim(), 'select 1 as ok')).toEqual([{ ok: 1 }]);
    for (const child of children) child.stdin.end();
    const late = startEmbeddedPostgres({ dataDir: folder });
    for (const child of children) if (child.exitCode === null) await once(child, 'exit');
    await (await late).stop();
    expect(children.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
  }
});

test.each(['postgres', ''])('takes nothing from a folder that holds something else (%j)', async (below) => {
  const folder = join(root, 'of-somebody');
  await mkdir(join(folder, 'postgres'), { recursive: true });
  const file = join(folder, below, 'kept.txt');
  await writeFile(file, 'kept');
  await expect(startApi({ dataDir: join(folder, below), port: 0 })).rejects.toThrow(
    new RegExp(`^DATA_DIR: .*/of-somebody/?${below} is not empty, .* such as ${join(folder, below, 'postgres')}$`),
  );
  expect(await readFile(file, 'utf8')).toBe('kept');
});

test('starts in a folder that is there and empty', async () => {
  const empty = join(root, 'empty', 'postgres');
  await mkdir(empty, { recursive: true });
  const server = await startEmbeddedPostgres({ dataDir: empty });
  expect(await query(server.url, 'select 1 as ok')).toEqual([{ ok: 1 }]);
  await server.stop();
});

test('a server that dies under the API is started again, and the API recovers', async () => {
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const api = await startApi({ dataDir: join(root, 'dying', 'postgres'), port: 0, bootstrapApiKey: KEY }, logger);
  atEnd(api.stop);
  const call = (method: string) =>
    fetch(`${api.listening}/ip_policies`, { method, headers: { authorization: `Bearer ${KEY}` } });
  for (let round = 1; round <= 2; round++) {
    expect((await call('POST')).status).toBe(201);
    const pid = Number((await readFile(join(api.dataDir ?? '', 'postmaster.pid'), 'utf8')).split('\n')[0]);
    process.kill(pid, 'SIGKILL');
    const seen = new Set<number>();
    await waitFor('the database', async () => {
      const { status } = await call('GET');
      seen.add(status);
      const restarts = logs.filter((line) => line.includes('PostgreSQL is running again'));
      return status === 200 && restarts.length === round;
    });
    expect([...seen].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  }
  const list = z.object({ ip_policies: z.array(z.unknown()) }).parse(await (await call('GET')).json());
  expect(list.ip_policies).toHaveLength(2);
  await api.stop();
  expect(logs.join()).toMatch(/PostgreSQL has died; starting it again/);
  await expect(query(api.databaseUrl, 'select 1')).rejects.toThrow(/ECONNREFUSED/);
});

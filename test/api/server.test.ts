import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { startApi } from '../../src/api/server.ts';
import type { ApiConfig } from '../../src/api/settings.ts';
import { openDatabase } from '../../src/api/store/database.ts';
import { errorBody } from '../../src/resources/definition/errors.ts';
import { ipPolicy } from '../../src/resources/ip-policy.ts';
import { user } from '../../src/resources/user.ts';
import { atEnd } from '../end-of-file.ts';
import { createTestDatabase } from '../harness.ts';
import { emptyDatabase, heldTransaction, untilWaiting } from './harness.ts';
import { startedApi } from './started-api.ts';

const KEY = 'tnl_ak_given_0123456789012345678901234';

async function start(config: Partial<ApiConfig>) {
  const api = await startedApi(config);
  atEnd(api.stop);
  return api;
}

function open(url: string) {
  const db = openDatabase({ url, poolSize: 1, statementTimeoutMs: 5_000, connectTimeoutMs: 5_000 });
  atEnd(() => db.close());
  return (text: string, values: unknown[] = []) => db.query({ text, values });
}

const OURS = `from pg_stat_activity where datname = current_database() and application_name = 'tunnel-operator'
  and pid <> pg_backend_pid()`;
/** The server takes a moment to notice that its client has gone. */
const untilNone = (rows: ReturnType<typeof open>, text: string, values: unknown[] = []) =>
  vi.waitFor(async () => expect(await rows(text, values)).toEqual([]), { timeout: 10_000 });

describe('a start', () => {
  test('on an empty database migrates it, creates an admin and returns its key once', async () => {
    const databaseUrl = await createTestDatabase();
    const first = await start({ databaseUrl });
    const key = z.string().parse(first.bootstrapKey);
    expect(first.logs.join()).not.toContain(key);
    const migrated = ({ logs }: typeof first) =>
      logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'migrated the database');
    expect(migrated(first)).toMatchObject([{ applied: expect.arrayContaining(['0001_owners_and_api_keys.sql']) }]);
    const { users } = z.object({ users: z.array(user.view) }).parse(JSON.parse((await first.ask(key, '/users')).text));
    expect(users).toMatchObject([{ admin: true, active: true }]);
    await first.stop();
    await first.stop();

    const second = await start({ databaseUrl });
    expect([migrated(second), second.bootstrapKey]).toEqual([[], undefined]);
    expect((await second.ask(key, '/users')).status).toBe(200);
  });

  test('warns about a given key that does not work, without showing it', async () => {
    const databaseUrl = await emptyDatabase();
    await (await start({ databaseUrl, bootstrapApiKey: KEY })).stop();
    await open(databaseUrl)('update users set active = false');
    const { logs } = await start({ databaseUrl, bootstrapApiKey: KEY });
    const [warning, ...others] = logs.filter((line) => line.includes('BOOTSTRAP_API_KEY'));
    expect(JSON.parse(warning ?? '{}')).toMatchObject({ level: 40, api_key_id: expect.stringMatching(/^ak_/) });
    expect([others, logs.join().includes(KEY)]).toEqual([[], false]);
  });

  test('uses BASE_URL in links, and without it the address of the request', async () => {
    const databaseUrl = await emptyDatabase();
    const rows = open(databaseUrl);
    const base = 'https://api.example.com/tunnels';
    const behind = await start({ databaseUrl, bootstrapApiKey: KEY, baseUrl: base });
    expect(behind.url).toBe(base);
    expect((await behind.ask(KEY, '/ip_policies')).text).toContain(`"uri":"${base}/ip_policies"`);
    // The start itself wrote these events: it created the first admin.
    for (const { uri } of await rows("select payload ->> 'uri' as uri from events")) expect(uri).toContain(`${base}/`);
    const plain = await start({ databaseUrl });
    expect((await plain.ask(KEY, '/ip_policies')).text).toContain(`"uri":"${plain.url}/ip_policies"`);
    await plain.ask(KEY, '/ip_policies', {});
    const [last] = await rows("select payload ->> 'uri' as uri from events order by id desc limit 1");
    expect(last?.uri).toMatch(/^\/ip_policies\//);
  });

  test('with METRICS_PORT serves the metrics only on that port', async () => {
    const api = await start({ databaseUrl: await emptyDatabase(), metricsPort: 0 });
    expect((await api.ask('', '/metrics')).status).toBe(404);
    const url = z.string().parse(api.metricsUrl);
    expect(new URL(url).port).not.toBe(String(api.port));
    const metrics = await fetch(url);
    expect(metrics.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await metrics.text()).toContain('{method="GET",route="unmatched",status_code="404"} 1');
    const missing = await fetch(new URL('/ip_policies', url));
    expect(errorBody.parse(await missing.json())).toMatchObject({ error_code: 'NOT_FOUND' });
    await api.stop();
    await expect(fetch(url)).rejects.toThrow();
  });

  test('on an IPv6 address reports a URL with brackets', async () => {
    const { listening } = await start({ databaseUrl: await emptyDatabase(), host: '::1' });
    expect(listening).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${listening}/healthz`)).status).toBe(200);
  });

  test('that fails leaves nothing running', async () => {
    const databaseUrl = await emptyDatabase();
    const { port } = await start({ databaseUrl });
    const rows = open(databaseUrl);
    const [{ now } = {}] = await rows('select now()');
    await expect(startApi({ databaseUrl, port })).rejects.toThrow(/EADDRINUSE/);
    await untilNone(rows, `select pid ${OURS} and backend_start > $1`, [now]);
    await rows("update schema_migrations set checksum = 'x' where version = 1");
    await expect(startApi({ databaseUrl, port: 0 })).rejects.toThrow(/was changed after it was applied/);
  });
});

test('the loss of an idle connection to the database is logged', async () => {
  const databaseUrl = await emptyDatabase();
  const api = await start({ databaseUrl, bootstrapApiKey: KEY });
  await api.ask(KEY, '/users');
  await open(databaseUrl)(`select pg_terminate_backend(pid) ${OURS}`);
  await vi.waitFor(() => expect(api.logs.join()).toContain('lost an idle connection to the database'));
});

test('a stop finishes requests in progress, accepts no new ones and disconnects from the database', async () => {
  const databaseUrl = await emptyDatabase();
  const api = await start({ databaseUrl, bootstrapApiKey: KEY });
  const { id } = ipPolicy.view.parse(JSON.parse((await api.ask(KEY, '/ip_policies', {})).text));
  const held = await heldTransaction(databaseUrl);
  await held.query('select 1 from ip_policies where id = $1 for update', [id]);
  const underWay = api.ask(KEY, `/ip_policies/${id}`, { description: 'finished' }, 'PATCH');
  const rows = open(databaseUrl);
  await untilWaiting({ rows }, 1);
  const stopped = api.stop();
  await refused(new URL(api.listening));
  await held.commit();
  expect(ipPolicy.view.parse(JSON.parse((await underWay).text)).description).toBe('finished');
  await stopped;
  await untilNone(rows, `select 1 ${OURS}`);
});

/** Resolves once nothing accepts connections at this address. */
async function refused({ hostname, port }: URL): Promise<void> {
  for (;;) {
    const open = await new Promise<boolean>((done) => {
      const socket = connect(Number(port), hostname, () => done(true));
      socket.on('error', () => done(false));
      socket.on('close', () => done(false));
      socket.unref();
      setImmediate(() => socket.end());
    });
    if (!open) return;
  }
}

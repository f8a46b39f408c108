import { connect } from 'node:net';
import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { BadBootstrapKey } from '../../src/api/secrets/tokens.ts';
import { startApi } from '../../src/api/server.ts';
import type { ApiConfig } from '../../src/api/settings.ts';
import { openDatabase } from '../../src/api/store/database.ts';
import { apiKey } from '../../src/resources/api-key.ts';
import { botUser } from '../../src/resources/bot-user.ts';
import { errorBody } from '../../src/resources/definition/errors.ts';
import { firstIdAt } from '../../src/resources/definition/id.ts';
import { ipPolicy } from '../../src/resources/ip-policy.ts';
import { user } from '../../src/resources/user.ts';
import { atEnd } from '../end-of-file.ts';
import { createTestDatabase } from '../harness.ts';
import { heldTransaction, untilWaiting } from './harness.ts';

const KEY = 'tnl_ak_given_0123456789012345678901234';

async function start(config: Partial<ApiConfig>) {
  const logs: string[] = [];
  const api = await startApi(
    { port: 0, ...config },
    pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) }),
  );
  atEnd(api.stop);
  const send = (path: string, init: RequestInit & { key?: string } = {}) =>
    fetch(api.listening + path, { ...init, headers: { authorization: `Bearer ${init.key ?? KEY}`, ...init.headers } });
  return { ...api, logs, send };
}

function open(url: string) {
  const db = openDatabase({ url, poolSize: 1, statementTimeoutMs: 5_000, connectTimeoutMs: 5_000 });
  atEnd(() => db.close());
  return db;
}

describe('events', () => {
  test('that have been kept for long enough are deleted, which is logged and counted', async () => {
    const databaseUrl = await createTestDatabase();
    await (await start({ databaseUrl, bootstrapApiKey: KEY })).stop();
    const db = open(databaseUrl);
    const rows = async () =>
      (await db.query({ text: 'select id from events order by id', values: [] })).map(({ id }) => id);
    const kept = await rows();
    const insert = (hours: number) => {
      const at = new Date(Date.now() - hours * 3_600_000);
      const text = `insert into events (id, type, occurred_at, actor, resource_id, payload) values ($1, 'user_created.v0', $2, 'x', 'x', '{}')`;
      return db.query({ text, values: [firstIdAt('ev', at), at.toISOString()] });
    };
    await insert(3);
    await insert(1);
    expect(await rows()).toHaveLength(kept.length + 2);
    const api = await start({ databaseUrl, bootstrapApiKey: KEY, eventRetentionMs: 2 * 3_600_000 });
    await expect.poll(rows).toHaveLength(kept.length + 1);
    await expect.poll(() => api.logs.filter((line) => line.includes('"deleted":1'))).toHaveLength(1);
    expect(await (await api.send('/metrics')).text()).toMatch(/^events_pruned_total [1-9]\d*$/m);
  });
});

describe('a start', () => {
  test('on an empty database migrates it and makes an admin whose key it returns, once', async () => {
    const databaseUrl = await createTestDatabase();
    const first = await start({ databaseUrl });
    const key = z.string().parse(first.bootstrapKey);
    expect(key).toMatch(/^tnl_ak_[0-9A-Za-z]{43}$/);
    expect(first.logs.join()).not.toContain(key);
    const migrated = ({ logs }: typeof first) =>
      logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'migrated the database');
    expect(migrated(first)).toMatchObject([{ applied: expect.arrayContaining(['0001_owners_and_api_keys.sql']) }]);
    const users = await (await first.send('/users', { key })).json();
    expect(z.object({ users: z.array(user.view) }).parse(users).users).toMatchObject([{ admin: true, active: true }]);
    await first.stop();

    const second = await start({ databaseUrl });
    expect(migrated(second)).toHaveLength(0);
    expect(second.bootstrapKey).toBeUndefined();
    expect((await second.send('/users', { key })).status).toBe(200);

    // One that may be repeated.
    await open(databaseUrl).query({ text: 'delete from schema_migrations where version = 17', values: [] });
    expect(migrated(await start({ databaseUrl }))).toMatchObject([{ applied: ['0017_shown_forms.sql'] }]);
  });

  test('makes the given key work, as often as it is given', async () => {
    const databaseUrl = await createTestDatabase();
    for (let n = 0; n < 2; n++) {
      const api = await start({ databaseUrl, bootstrapApiKey: KEY });
      expect(api.bootstrapKey).toBeUndefined();
      expect((await api.send('/users')).status).toBe(200);
      await api.stop();
    }
    const other = 'tnl_ak_rotated_89012345678901234';
    const api = await start({ databaseUrl, bootstrapApiKey: other });
    const answer = await (await api.send('/users', { key: other })).json();
    expect(z.object({ users: z.array(user.view) }).parse(answer).users).toHaveLength(1);
  });

  test.each<[string, string, Record<string, number>]>([
    ['owner is inactive', 'update users set active = false', { 'user_updated.v0': 1 }],
    ['owner is no admin any more', 'update users set admin = false', { 'user_updated.v0': 1 }],
    ['time is over', 'update api_keys set expires_at = now()', { 'api_key_updated.v0': 1 }],
    [
      'owner and time have both ended',
      "with k as (update api_keys set expires_at = '2001-01-01') update users set active = false, admin = false",
      { 'user_updated.v0': 1, 'api_key_updated.v0': 1 },
    ],
  ])('makes the given key work again when its %s, once, also of several processes', async (_, spoil, events) => {
    const databaseUrl = await createTestDatabase();
    const first = await start({ databaseUrl, bootstrapApiKey: KEY });
    const db = open(databaseUrl);
    await db.query({ text: spoil, values: [] });
    expect([401, 403]).toContain((await first.send('/users')).status);
    await first.stop();
    const before = await db.query({ text: 'select id from events', values: [] });

    const apis = await Promise.all(Array.from({ length: 3 }, () => start({ databaseUrl, bootstrapApiKey: KEY })));
    for (const api of apis) expect((await api.send('/users')).status).toBe(200);
    const text = 'select type, actor, resource_id, payload from events where id <> all($1)';
    const after = await db.query({ text, values: [before.map(({ id }) => id)] });
    expect(Object.fromEntries(after.map(({ type }) => [type, 1]))).toEqual(events);
    expect(after).toHaveLength(Object.keys(events).length);
    const [owner] = await db.query({ text: 'select id from users', values: [] });
    for (const { type, actor, payload } of after) {
      expect(actor).toBe(owner?.id);
      expect(payload).toMatchObject(type === 'user_updated.v0' ? { admin: true, active: true } : { expires_at: null });
    }
    const warnings = apis.flatMap(({ logs }) => logs.filter((line) => line.includes('BOOTSTRAP_API_KEY')));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0] ?? '')).toMatchObject({ level: 40, owner_id: owner?.id });
    expect(apis.flatMap(({ logs }) => logs).join('\n')).not.toContain(KEY);
  });

  test('leaves a given key that works as it is, also one that will end', async () => {
    const databaseUrl = await createTestDatabase();
    await (await start({ databaseUrl, bootstrapApiKey: KEY })).stop();
    const db = open(databaseUrl);
    await db.query({ text: "update api_keys set expires_at = now() + interval '1 hour'", values: [] });
    const state = () =>
      db.query({ text: 'select k.*, u.*, (select count(*) from events) from api_keys k, users u', values: [] });
    const before = await state();
    const api = await start({ databaseUrl, bootstrapApiKey: KEY });
    expect(await state()).toEqual(before);
    expect(api.logs.join()).not.toContain('BOOTSTRAP_API_KEY');
  });

  test('does not take the key of a bot, which can be no admin, and names it', async () => {
    const databaseUrl = await createTestDatabase();
    const api = await start({ databaseUrl, bootstrapApiKey: KEY });
    const json = { 'content-type': 'application/json' };
    const post = async (path: string, body: object) =>
      (await api.send(path, { method: 'POST', headers: json, body: JSON.stringify(body) })).json();
    const bot = botUser.view.parse(await post('/bot_users', { name: 'a bot' }));
    const { id, token } = apiKey.view.parse(await post('/api_keys', { owner_id: bot.id }));
    await api.stop();
    const failed = startApi({ databaseUrl, port: 0, bootstrapApiKey: token ?? '' });
    await expect(failed).rejects.toThrow(BadBootstrapKey);
    await expect(failed).rejects.toThrow(`BOOTSTRAP_API_KEY is the key ${id} of the bot ${bot.id}`);
    await expect(failed).rejects.not.toThrow(token ?? '');
  });

  test('of several processes at once makes one admin', async () => {
    const databaseUrl = await createTestDatabase();
    const apis = await Promise.all(Array.from({ length: 3 }, () => start({ databaseUrl })));
    expect(apis.filter(({ bootstrapKey }) => bootstrapKey !== undefined)).toHaveLength(1);
  });

  test('with BASE_URL makes links of it, without from the address that was asked', async () => {
    const databaseUrl = await createTestDatabase();
    const behind = await start({ databaseUrl, bootstrapApiKey: KEY, baseUrl: 'https://api.example.com/tunnels' });
    expect(behind.url).toBe('https://api.example.com/tunnels');
    const list = z.object({ uri: z.string() });
    expect(list.parse(await (await behind.send('/ip_policies')).json()).uri).toBe(
      'https://api.example.com/tunnels/ip_policies',
    );
    await behind.send('/ip_policies', { method: 'POST' });
    // That of the first admin was made by the start.
    const uri = (at: string) => expect.stringMatching(`^https://api\\.example\\.com/tunnels/${at}/`);
    const events = await open(databaseUrl).query({ text: "select payload ->> 'uri' as uri from events", values: [] });
    expect(events.map((event) => event.uri).sort()).toEqual([uri('api_keys'), uri('ip_policies'), uri('users')]);
    const plain = await start({ databaseUrl });
    expect(list.parse(await (await plain.send('/ip_policies')).json()).uri).toBe(`${plain.url}/ip_policies`);
    await plain.send('/ip_policies', { method: 'POST' });
    const last = "select payload ->> 'uri' as uri from events order by id desc limit 1";
    const [{ uri: path } = {}] = await open(databaseUrl).query({ text: last, values: [] });
    expect(path).toMatch(/^\/ip_policies\//);
  });

  test('with METRICS_PORT serves the metrics there, and there alone', async () => {
    const databaseUrl = await createTestDatabase();
    const api = await start({ databaseUrl, metricsPort: 0 });
    expect((await api.send('/metrics')).status).toBe(404);
    const url = z.string().parse(api.metricsUrl);
    expect(new URL(url).port).not.toBe(new URL(api.listening).port);
    const metrics = await fetch(url);
    expect(metrics.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await metrics.text()).toMatch(
      /request_duration_seconds_count\{method="GET",route="unmatched",status_code="404"\} 1/,
    );
    const missing = await fetch(new URL('/ip_policies', url));
    expect(errorBody.parse(await missing.json())).toMatchObject({ error_code: 'NOT_FOUND' });
    await api.stop();
    await expect(fetch(url)).rejects.toThrow();
    const plain = await start({ databaseUrl });
    expect(plain.metricsUrl).toBeUndefined();
    expect((await plain.send('/metrics')).status).toBe(200);
  });

  test('on an address of IPv6 says so as URLs do', async () => {
    const { listening } = await start({ databaseUrl: await createTestDatabase(), host: '::1' });
    expect(listening).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${listening}/healthz`)).status).toBe(200);
  });

  test('that fails leaves nothing running', async () => {
    const databaseUrl = await createTestDatabase();
    const running = await start({ databaseUrl });
    const port = Number(new URL(running.listening).port);
    const db = open(databaseUrl);
    const text = `select pid from pg_stat_activity where datname = current_database() and application_name = 'tunnel-operator'
      and pid <> pg_backend_pid() and backend_start > $1`;
    const [{ now } = {}] = await db.query({ text: 'select now()', values: [] });
    await expect(startApi({ databaseUrl, port })).rejects.toThrow(/EADDRINUSE/);
    await vi.waitFor(async () => expect(await db.query({ text, values: [now] })).toEqual([]), { timeout: 10_000 });
    await db.query({ text: "update schema_migrations set checksum = 'x' where version = 1", values: [] });
    await expect(startApi({ databaseUrl, port: 0 })).rejects.toThrow(/was changed after it was applied/);
    const gone = databaseUrl.replace(/:\d+\//, ':1/');
    await expect(startApi({ databaseUrl: gone, port: 0 })).rejects.toThrow(/ECONNREFUSED/);
  });
});

test('an idle connection to the database that is lost is a warning', async () => {
  const databaseUrl = await createTestDatabase();
  const api = await start({ databaseUrl, bootstrapApiKey: KEY });
  await api.send('/users');
  const text = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
    and application_name = 'tunnel-operator' and pid <> pg_backend_pid()`;
  await open(databaseUrl).query({ text, values: [] });
  await vi.waitFor(() => expect(api.logs.join()).toContain('lost an idle connection to the database'));
});

describe('a stop', () => {
  test('finishes the requests under way, takes no new ones, and lets go of the database', async () => {
    const databaseUrl = await createTestDatabase();
    const api = await start({ databaseUrl, bootstrapApiKey: KEY });
    const created = ipPolicy.view.parse(await (await api.send('/ip_policies', { method: 'POST' })).json());
    const held = await heldTransaction(databaseUrl);
    await held.query('select 1 from ip_policies where id = $1 for update', [created.id]);
    const underWay = api.send(`/ip_policies/${created.id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'finished' }),
    });
    const db = open(databaseUrl);
    await untilWaiting({ rows: (text, values = []) => db.query({ text, values }) }, 1);

    const stopped = api.stop();
    await refused(new URL(api.listening));
    await held.commit();
    const answer = await underWay;
    expect(ipPolicy.view.parse(await answer.json()).description).toBe('finished');
    await stopped;
    const text =
      "select 1 from pg_stat_activity where datname = current_database() and application_name = 'tunnel-operator' and pid <> pg_backend_pid()";
    // The server takes a moment to notice that its client has gone.
    await vi.waitFor(async () => expect(await db.query({ text, values: [] })).toEqual([]), { timeout: 10_000 });
  });

  test('may be asked for twice', async () => {
    const api = await start({ databaseUrl: await createTestDatabase() });
    await api.stop();
    await api.stop();
  });
});

/** Resolves when nobody accepts connections there any more. */
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

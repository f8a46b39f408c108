/** Starts the API with each of its settings, and checks what that changes. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../dev/processes/wait.ts';
import { certificateSettings } from '../../src/api/certificate-settings.ts';
import { LOAD_LIMITS } from '../../src/api/guard/load-shedding.ts';
import { type ApiConfig, apiSettings } from '../../src/api/settings.ts';
import { openDatabase } from '../../src/api/store/database.ts';
import { freePort } from '../../src/postgres/ports.ts';
import { apiKey } from '../../src/resources/api-key.ts';
import { firstIdAt, newId } from '../../src/resources/definition/id.ts';
import { ipPolicy } from '../../src/resources/ip-policy.ts';
import { user } from '../../src/resources/user.ts';
import { atEnd } from '../end-of-file.ts';
import { open, request, untilRefused } from './guard/api-child.ts';
import { ADMIN_KEY, emptyDatabase, heldTransaction, untilWaiting } from './harness.ts';
import { type StartedApi, startedApi } from './started-api.ts';

const databaseUrl = await emptyDatabase();
const db = openDatabase({ url: databaseUrl, poolSize: 1, statementTimeoutMs: 5_000, connectTimeoutMs: 5_000 });
atEnd(() => db.close());
const rows = (text: string, values: unknown[] = []) => db.query({ text, values });

const intervals = vi.spyOn(globalThis, 'setInterval');
/** Samples the load now, as a timer does every few seconds. */
function sampleLoad(): void {
  for (const [sample, ms] of intervals.mock.calls) if (ms === LOAD_LIMITS.sampleMs) sample();
}

const start = (settings: Partial<ApiConfig>) => startedApi({ databaseUrl, ...settings });

/** An API with default settings, except for its database and first key. */
const usual = await start({ bootstrapApiKey: ADMIN_KEY });
atEnd(usual.stop);
const made = async <T extends z.ZodType>(view: T, path: string, body: unknown, key = ADMIN_KEY) =>
  view.parse(JSON.parse((await usual.ask(key, path, body)).text));
const newKey = async (owner_id: string) => z.string().parse((await made(apiKey.view, '/api_keys', { owner_id })).token);
const owner = await made(user.view, '/users', { name: 'an owner' });
const [KEY, SECOND_KEY] = [await newKey(owner.id), await newKey(owner.id)];
const OTHERS_KEY = await newKey((await made(user.view, '/users', { name: 'another' })).id);
const NO_KEY = '';

const OLD_EVENT = firstIdAt('ev', new Date(Date.now() - 3 * 3_600_000));
await rows(
  `insert into events (id, type, occurred_at, actor, resource_id, payload)
   values ($1, 'user_created.v0', now() - interval '3 hours', 'x', 'x', '{}')`,
  [OLD_EVENT],
);

const OLD_DELIVERY = firstIdAt('evd', new Date(Date.now() - 3 * 3_600_000));
const DESTINATION = newId('ed');
await rows(
  `insert into event_destinations (id, format, target, sealed_target, sealed_signing_secret, created_at, updated_at)
   values ($1, 'json', '{}', null, '', now(), now())`,
  [DESTINATION],
);
await rows(
  `insert into event_deliveries (id, created_at, destination_id, subscription_ids, event_id, seq, type, resource_id, state)
   values ($1, now() - interval '3 hours', $2, '{}', 'x', 1, 'user_created.v0', 'x', 'delivered')`,
  [OLD_DELIVERY, DESTINATION],
);

/** Waits for less time than the default settings would take. */
const soon = <T>(what: string, probe: () => T | Promise<T>) => waitFor(what, probe, { timeoutMs: 15_000 });

const statuses = async (api: StartedApi, keys: string[]) => {
  const found: number[] = [];
  for (const key of keys) found.push((await api.ask(key, '/whoami')).status);
  return found;
};

/** Expects these statuses of requests that reach each limit if it is 1. Retries, as a window may end in between. */
const expectSpent = (api: StartedApi, expected: number[]) =>
  expect.poll(() => statuses(api, [KEY, KEY, SECOND_KEY, NO_KEY, NO_KEY]), { timeout: 15_000 }).toEqual(expected);

/** Expects these statuses of three keys while the first one has an upload in flight. */
async function expectBesideUpload(api: StartedApi, expected: number[]): Promise<void> {
  const { socket } = await open(api);
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'content-length': '3000' };
  socket.write(request('/ip_policies', { method: 'POST', headers, body: '{'.padEnd(2000) }));
  await soon('the upload', async () =>
    /^tunnel_api_http_in_flight_bytes [1-9]/m.test((await api.ask(NO_KEY, '/metrics')).text),
  );
  expect(await statuses(api, [KEY, SECOND_KEY, OTHERS_KEY])).toEqual(expected);
  socket.destroy();
}

/** Expects these answers on connections that stay open, and these log lines about refused ones. */
async function expectConnections(api: StartedApi, expected: string[], log: object[]): Promise<void> {
  const answers: string[] = [];
  const peers = await Promise.all(expected.map(() => open(api)));
  for (const peer of peers) {
    onTestFinished(() => void peer.socket.destroy());
    peer.socket.write(request('/whoami'));
    await soon('a response or its end', () => peer.end() !== undefined || /HTTP\/1\.1 \d+/.test(peer.received()));
    answers.push(/HTTP\/1\.1 (\d+)/.exec(peer.received())?.[1] ?? 'closed');
  }
  expect(answers).toEqual(expected);
  const lines = api.logs.filter((line) => line.includes('refusing connections'));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject(log);
}

/** Sends requests that change a locked resource, until all of them wait. */
async function blockedChanges(api: StartedApi, count = 1) {
  const { id } = await made(ipPolicy.view, '/ip_policies', {}, KEY);
  const held = await heldTransaction(databaseUrl);
  const release = vi.fn(() => held.rollback());
  onTestFinished(async () => void (release.mock.calls.length === 0 && (await release())));
  await held.query('select 1 from ip_policies where id = $1 for update', [id]);
  const change = () =>
    api.ask(KEY, `/ip_policies/${id}`, { description: 'changed' }, 'PATCH').then(
      ({ status, text }) => `${status} ${text}`,
      () => 'cut',
    );
  const answers = Array.from({ length: count }, change);
  await untilWaiting({ rows }, count);
  return { answers, release };
}

interface Started<T> {
  value: T;
  /** Other settings that its effect needs, or that reveal whether another setting was used in its place. */
  beside?: Partial<ApiConfig>;
  shows(api: StartedApi): Promise<unknown>;
}

/** Either the effect of a setting, or the refusal to start with it. */
type Proof<T> = Started<T> | (Omit<Started<T>, 'shows'> & { refusal: RegExp });

const SOME_KEYS: ApiConfig['encryptionKey'] = [{ id: 'a', bytes: Buffer.alloc(32, 1) }];
/** A database of its own, since no API can start on it without that key afterwards. */
const databaseForKeys = async () => ({ databaseUrl: await emptyDatabase(), bootstrapApiKey: ADMIN_KEY });

const expectDestination = async (api: StartedApi, url: string) =>
  expect(await api.ask(ADMIN_KEY, '/event_destinations', { target: { webhook: { url } } })).toMatchObject({
    status: 201,
  });

/** Those of automatic certificates have a file of their own. */
type Proven = Omit<ApiConfig, keyof typeof certificateSettings>;

const PROOFS: { readonly [Name in keyof Proven]: Proof<ApiConfig[Name]> } = {
  databaseUrl: {
    value: await emptyDatabase(),
    shows: async (api) => expect(await statuses(api, [KEY])).toEqual([401]),
  },
  dataDir: {
    value: import.meta.dirname,
    beside: { databaseUrl: undefined },
    refusal: /^DATA_DIR: .*\/test\/api is not empty/,
  },
  host: { value: '0.0.0.0', shows: async ({ listening }) => expect(listening).toMatch(/^http:\/\/localhost:/) },
  port: { value: await freePort(), shows: async ({ port }) => expect(port).toBe(PROOFS.port.value) },
  baseUrl: {
    value: 'https://api.example.com',
    shows: async (api) =>
      expect((await api.ask(KEY, '/ip_policies')).text).toContain('"uri":"https://api.example.com/ip_policies'),
  },
  bootstrapApiKey: {
    value: 'tnl_ak_another_0123456789012345678901',
    shows: async (api) => expect(await statuses(api, ['tnl_ak_another_0123456789012345678901'])).toEqual([200]),
  },
  operatorApiKey: {
    value: 'tnl_ak_operator_012345678901234567890',
    shows: async (api) =>
      expect((await api.ask('tnl_ak_operator_012345678901234567890', '/whoami')).text).toContain('"admin":false'),
  },
  encryptionKey: {
    value: SOME_KEYS,
    beside: await databaseForKeys(),
    shows: async (api) => expect((await api.ask(ADMIN_KEY, '/ssh_certificate_authorities', {})).status).toBe(201),
  },
  serviceDomains: {
    value: ['tunnels.example'],
    shows: async (api) =>
      expect((await api.ask(KEY, '/reserved_domains', { domain: 'of-somebody.example' })).text).toMatch(
        /"cname_target":"\w+\.cname\.tunnels\.example"/,
      ),
  },
  acmeAuthority: {
    value: 'zerossl',
    async shows(api) {
      const certificate_management_policy = { authority: 'zerossl' };
      const body = { domain: 'certified.example', certificate_management_policy };
      expect((await api.ask(KEY, '/reserved_domains', body)).status).toBe(201);
    },
  },
  // One key may use half of the connections.
  poolSize: { value: 40, shows: (api) => blockedChanges(api, 20) },
  statementTimeoutMs: {
    value: 500,
    beside: { handlerTimeoutMs: 4_000 },
    shows: async (api) =>
      expect(await (await blockedChanges(api)).answers[0]).toMatch(/^503 .*database is not available/),
  },
  connectTimeoutMs: {
    value: 500,
    beside: { poolSize: 1, handlerTimeoutMs: 4_000 },
    async shows(api) {
      await blockedChanges(api);
      expect((await api.ask('tnl_ak_unknown', '/whoami')).text).toMatch(/connections to the database are in use/);
    },
  },
  bodyLimit: {
    value: 1024,
    shows: async (api) =>
      expect((await api.ask(KEY, '/ip_policies', { description: 'x'.repeat(1024) })).status).toBe(413),
  },
  requestTimeoutMs: {
    value: 500,
    async shows(api) {
      const peer = await open(api);
      peer.socket.write('GET /healthz HTTP/1.1\r\n');
      await soon('an answer', () => /^HTTP\/1\.1 503 [\s\S]*did not arrive in time/.test(peer.received()));
    },
  },
  handlerTimeoutMs: {
    value: 500,
    shows: async (api) => expect(await (await blockedChanges(api)).answers[0]).toMatch(/^503 .*took too long/),
  },
  bytesInFlightPerKey: { value: 1024, shows: (api) => expectBesideUpload(api, [429, 200, 200]) },
  bytesInFlightPerOwner: { value: 1024, shows: (api) => expectBesideUpload(api, [429, 429, 200]) },
  bytesInFlight: { value: 1024, shows: (api) => expectBesideUpload(api, [503, 503, 200]) },
  metricsPort: { value: 0, shows: async (api) => expect((await api.ask(NO_KEY, '/metrics')).status).toBe(404) },
  rateLimit: { value: 1, shows: (api) => expectSpent(api, [200, 429, 200, 401, 401]) },
  rateLimitPerOwner: { value: 1, shows: (api) => expectSpent(api, [200, 429, 429, 401, 401]) },
  rateLimitUnauthenticated: { value: 1, shows: (api) => expectSpent(api, [200, 200, 200, 401, 429]) },
  eventRetentionMs: {
    value: 2 * 3_600_000,
    shows: () =>
      soon('the deletion of the event', async () => {
        const found = await rows('select 1 from events where id = $1', [OLD_EVENT]);
        return found.length === 0;
      }),
  },
  eventDeliveryRetentionMs: {
    value: 2 * 3_600_000,
    shows: () =>
      soon('the deletion of the delivery', async () => {
        const found = await rows('select 1 from event_deliveries where id = $1', [OLD_DELIVERY]);
        return found.length === 0;
      }),
  },
  eventDelivery: {
    value: false,
    shows: async ({ logs }) => expect(logs.join()).toContain('EVENT_DELIVERY is false'),
  },
  eventAllowNetworks: {
    value: ['10.0.0.0/8'],
    beside: { ...(await databaseForKeys()), encryptionKey: SOME_KEYS },
    shows: (api) => expectDestination(api, 'https://10.0.0.1/'),
  },
  eventHttpHosts: {
    value: ['broker.internal'],
    beside: { ...(await databaseForKeys()), encryptionKey: SOME_KEYS },
    shows: (api) => expectDestination(api, 'http://broker.internal:8080/ns/default'),
  },
  maxConnections: {
    value: 2,
    beside: { trustedProxies: ['127.0.0.1'] },
    shows: (api) => expectConnections(api, ['200', '200', 'closed'], [{ connections: 2 }]),
  },
  maxConnectionsPerAddress: {
    value: 2,
    shows: (api) => expectConnections(api, ['200', '200', 'closed'], [{ per_address: 2 }]),
  },
  trustedProxies: {
    value: ['127.0.0.1'],
    beside: { maxConnectionsPerAddress: 2 },
    shows: (api) => expectConnections(api, ['200', '200', '200'], []),
  },
  maxEventLoopDelayMs: {
    value: 100,
    async shows(api) {
      const sampled = async () => {
        sampleLoad();
        return (await statuses(api, [KEY]))[0];
      };
      const delayed = async () => {
        // Starts a new mean, since earlier turns of the event loop would lower it.
        sampleLoad();
        // The monitor measures from its first tick after a sample.
        await new Promise((turn) => setTimeout(turn, 25));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
        // Time for a measurement: without any, the limit does not apply.
        await new Promise((turn) => setTimeout(turn, 20));
        return sampled();
      };
      // Retries, since the timer itself may sample in between and start a new mean.
      await expect.poll(delayed, { timeout: 15_000 }).toBe(503);
    },
  },
  maxRssBytes: {
    value: 1024 ** 2,
    async shows(api) {
      sampleLoad();
      expect(await statuses(api, [KEY])).toEqual([503]);
    },
  },
  shutdownDelayMs: {
    value: 1_500,
    async shows(api) {
      const { answers, release } = await blockedChanges(api);
      const stopped = api.stop();
      // Each call opens a new connection.
      const readiness = async () => (await api.ask(NO_KEY, '/readyz')).status;
      // Without the setting, it stops listening at once.
      await expect.poll(readiness).toBe(503);
      await untilRefused(api);
      await release();
      expect(await answers[0]).toMatch(/^200 /);
      await stopped;
    },
  },
  shutdownTimeoutMs: {
    value: 1_000,
    async shows(api) {
      const { answers } = await blockedChanges(api);
      const stopped = api.stop();
      await untilRefused(api);
      expect(await Promise.race([answers[0], Promise.resolve('under way')])).toBe('under way');
      expect(await answers[0]).toBe('cut');
      await stopped;
    },
  },
};

test('each setting has a proof', () => {
  expect([...Object.keys(PROOFS), ...Object.keys(certificateSettings)].toSorted()).toEqual(
    Object.keys(apiSettings).toSorted(),
  );
});

/** Settings that do not interfere with each other, so that one API can have them all. */
const TOGETHER = new Set([
  ...['host', 'port', 'baseUrl', 'bootstrapApiKey', 'operatorApiKey', 'serviceDomains', 'acmeAuthority'],
  ...['bodyLimit', 'requestTimeoutMs', 'metricsPort', 'eventRetentionMs', 'eventDeliveryRetentionMs'],
]);
const proofs = Object.entries<Proof<unknown>>(PROOFS);
const together = await start(
  Object.fromEntries(proofs.filter(([name]) => TOGETHER.has(name)).map(([name, { value }]) => [name, value])),
);
atEnd(together.stop);

test.each(proofs)('%s takes effect', async (name, { value, beside, ...proof }) => {
  if (TOGETHER.has(name) && 'shows' in proof) return void (await proof.shows(together));
  const started = start({ ...beside, [name]: value });
  if ('refusal' in proof) return expect(started).rejects.toThrow(proof.refusal);
  const api = await started;
  onTestFinished(api.stop);
  await proof.shows(api);
});

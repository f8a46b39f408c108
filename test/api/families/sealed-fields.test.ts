/** Targets of events and secret headers: shown to those who may read them, and nowhere else in plain. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { sealPlainSecrets } from '../../../src/api/families/all.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { migrate, migrations } from '../../../src/api/store/migrate.ts';
import { eventDestination } from '../../../src/resources/event-destination.ts';
import { withoutSecrets } from '../../../src/resources/formats/response-headers.ts';
import { hostOnly } from '../../../src/resources/formats/web-url.ts';
import { httpResponseBackend } from '../../../src/resources/http-response-backend.ts';
import { createTestDatabase } from '../../harness.ts';
import { dumpOf } from '../dump.ts';
import { startTestApi, type TestApi } from '../harness.ts';
import { withClient } from '../store/schema/recorded-rows.ts';

const KEY = { id: 'k', bytes: Buffer.alloc(32, 1) };
const secrets = createSecrets([KEY]);

const target = (end: string) => ({ webhook: { url: `https://hooks.example.com${end}` } });
const SHORT = target('/…');
const datadog = (api_key: string) => ({ datadog: { api_key, site: 'datadoghq.eu', tags: ['a'] } });
const logs = (end: string, secret: string) => ({
  otlp_logs: { url: `https://otel.example.com${end}`, headers: { 'x-team': secret } },
});
const SHORT_LOGS = logs('/…', '…');
const headers = (secret: string) => ({ 'content-type': 'text/plain', 'x-api-key': secret });
const FAMILY = {
  destination: { path: '/event_destinations', view: eventDestination.view, field: 'target' },
  backend: { path: '/backends/http_response', view: httpResponseBackend.view, field: 'headers' },
};

const stored = async (api: TestApi) => [...(await dumpOf(api)).values()].join('\n');

const payloads = async ({ rows }: Pick<TestApi, 'rows'>, field: string) =>
  (await rows(`select payload->'${field}' as value from events where payload ? '${field}' order by id`)).map(
    ({ value }) => value,
  );

test.each([
  ['destination', target('/hush-1?t=hush'), target('/hush-2'), [SHORT, SHORT, SHORT, SHORT]],
  [
    'destination',
    datadog('hush-0123456789a'),
    logs('/hush', 'hush'),
    [datadog('…'), datadog('…'), SHORT_LOGS, SHORT_LOGS],
  ],
  ['backend', headers('hush-1'), headers('hush-2'), Array(4).fill(headers('…'))],
] as const)('of a %s is shown as it was sent, and is nowhere else', async (which, first, second, events) => {
  const { path, view, field } = FAMILY[which];
  const api = await startTestApi({ secrets });
  const { admin } = api;
  const create = () => admin.post(path, { [field]: first }, { 'idempotency-key': 'once' });
  const made = (await create()).as(view);
  const one = `${path}/${made.id}`;
  const shown = async () => [
    z.looseObject({ [field]: z.unknown() }).parse(JSON.parse((await admin.get(one)).text))[field],
    JSON.parse((await admin.get(path)).text)[field === 'target' ? 'event_destinations' : 'backends'][0][field],
  ];
  expect(made).toMatchObject({ [field]: first });
  expect(await shown()).toEqual([first, first]);
  const replay = await create();
  expect(replay.headers['idempotency-replayed']).toBe('true');
  expect(replay.as(view)).toMatchObject({ id: made.id, [field]: first });
  expect((await admin.patch(one, { description: 'd' })).as(view)).toMatchObject({ [field]: first });
  // What GET shows is no change.
  const etag = (await admin.get(one)).headers.etag;
  expect((await admin.patch(one, JSON.parse((await admin.get(one)).text))).headers.etag).toBe(etag);
  expect((await admin.patch(one, { [field]: second })).as(view)).toMatchObject({ [field]: second });
  expect(await shown()).toEqual([second, second]);
  expect(`${await stored(api)}${api.logs.join()}`).not.toContain('hush');
  expect((await admin.delete(one)).status).toBe(204);
  expect(await payloads(api, field)).toEqual(events);
  expect(`${await stored(api)}${api.logs.join()}`).not.toContain('hush');
});

test('without an encryption key, only a value with a secret is refused', async () => {
  const { admin, rows } = await startTestApi({ secrets: createSecrets(undefined) });
  const { path, view } = FAMILY.backend;
  const plain = { headers: { 'x-trace': 'a' } };
  const made = (await admin.post(path, plain)).as(view);
  expect((await admin.get(path)).text).toContain('x-trace');
  expect((await admin.patch(`${path}/${made.id}`, { headers: { 'x-trace': 'b' } })).as(view).headers).toEqual({
    'x-trace': 'b',
  });
  for (const reply of [
    await admin.post(path, { headers: headers('s') }),
    await admin.patch(`${path}/${made.id}`, { headers: headers('s') }),
  ])
    expect(reply.error).toMatchObject({ error_code: 'UNAVAILABLE', msg: expect.stringMatching(/ENCRYPTION_KEY/) });
  expect(await rows('select headers from http_response_backends')).toEqual([{ headers: { 'x-trace': 'b' } }]);
});

test('what an earlier release stored is sealed, and stays as clients know it', async () => {
  const url = await createTestDatabase();
  const ours = await migrations();
  await migrate(
    url,
    ours.slice(
      0,
      ours.findIndex(({ name }) => name === '0025_sealed_fields.sql'),
    ),
  );
  const [ed, backend, plain] = ['ed_01k9zq3v5hf8svx2r4c6y7n0wd', 'bkdhr_01k9zq3v5hf8svx2r4c6y7n0wd'].concat(
    'bkdhr_01k9zq3v5hf8svx2r4c6y7n0we',
  );
  const whole = { [String(ed)]: { target: target('/hush') }, [String(backend)]: { headers: headers('hush') } };
  await withClient(url, async (client) => {
    const sealed = secrets.seal('whsec_', {
      table: 'event_destinations',
      id: String(ed),
      field: 'sealed_signing_secret',
    });
    await client.query(
      `insert into event_destinations (id, format, target, sealed_signing_secret, created_at, updated_at)
       values ($1, 'json', $2, $3, now(), now())`,
      [ed, target('/hush'), sealed],
    );
    for (const [id, value] of [
      [backend, headers('hush')],
      [plain, { 'x-trace': 'a' }],
    ])
      await client.query(
        `insert into http_response_backends (id, body, headers, status_code, created_at, updated_at)
         values ($1, '', $2, 200, now(), now())`,
        [id, value],
      );
    for (const [id, value] of Object.entries(whole)) {
      const type = id === ed ? 'event_destination_created.v0' : 'http_response_backend_created.v0';
      const body = { id, uri: '/x', ...value, metadata: null };
      await client.query(
        `insert into events (id, type, occurred_at, actor, resource_id, payload) values ($1, $2, now(), 'usr_1', $3, $4)`,
        [`ev_${id}`, type, id, body],
      );
      await client.query(
        `insert into idempotency_keys (principal, digest, fingerprint, resource_id, status, body, created_at)
         values ('usr_1', $1, '', $1, 201, $2, now())`,
        [id, body],
      );
    }
  });
  await migrate(url);
  const api = await startTestApi({ databaseUrl: url, secrets });
  const shown = async () => [
    (await api.admin.get(`/event_destinations/${ed}`)).text,
    (await api.admin.get('/backends/http_response')).text,
  ];
  const before = await shown();
  expect(before.join()).toContain('/hush');
  expect(await sealPlainSecrets(api.db, secrets)).toBe(2);
  expect(await sealPlainSecrets(api.db, secrets)).toBe(0);
  expect(await shown()).toEqual(before);
  expect(await stored(api)).not.toContain('hush');
  expect(await payloads(api, 'target')).toEqual([SHORT]);
  const [answer] = await api.rows("select body::text from idempotency_keys where resource_id like 'ed%'");
  expect(answer?.body).toMatch(/"id".*"uri".*"target".*"metadata"/);
});

test.each([
  ['https://h.example.com', 'https://h.example.com'],
  ['https://h.example.com/', 'https://h.example.com/'],
  ['https://h.example.com:8443/a/b?c=d', 'https://h.example.com:8443/…'],
  ['HTTPS://H.example.com?token=a', 'HTTPS://H.example.com/…'],
  ['https://[2001:db8::1]/a', 'https://[2001:db8::1]/…'],
])('the URL %s is shortened to %s', (url, short) => {
  expect(hostOnly(url)).toBe(short);
  expect(hostOnly(short)).toBe(short);
});

const SECRET = ['authorization', 'set-cookie', 'x-api-key', 'apikey', 'x-auth-token', 'client-secret', 'db-password'];
test.each([...SECRET.map((name) => [name, '…']), ['content-type', 'v'], ['cache-control', 'v'], ['etag', 'v']])(
  'the header %s is shortened to %s',
  (name, short) => {
    expect(withoutSecrets({ [String(name)]: 'v' })).toEqual({ [String(name)]: short });
  },
);

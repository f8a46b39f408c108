import { expect, test } from 'vitest';
import { FAILING, healthOf } from '../../../src/api/events/delivery/health.ts';
import type { SentEvent } from '../../../src/api/events/wire/cloud-event.ts';
import type { Answer } from '../../../src/api/events/wire/sender.ts';
import type { Destination } from '../../../src/api/events/wire/targets.ts';
import { SEALED } from '../../../src/api/families/all.ts';
import { eventDestinations, openDestination } from '../../../src/api/families/event-destination.ts';
import { pauseFailing } from '../../../src/api/families/event-pausing.ts';
import { DEFAULT_PLATFORM } from '../../../src/api/http/platform.ts';
import { rotateEncryption } from '../../../src/api/secrets/rotation.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { eventDestination } from '../../../src/resources/event-destination.ts';
import { destinationTest } from '../../../src/resources/event-destination-calls.ts';
import { startTestApi } from '../harness.ts';

const ENCRYPTION_KEY = { id: 'k', bytes: Buffer.alloc(32, 7) };
const secrets = createSecrets([ENCRYPTION_KEY]);
/** What the receiver answers to test events, and what it got. */
const answers: Answer[] = [];
const sent: { destination: Destination; event: SentEvent }[] = [];
const courier = {
  async deliver(destination: Destination, event: SentEvent) {
    sent.push({ destination, event });
    return answers.shift() ?? { delivered: true };
  },
};
const api = await startTestApi({ secrets, courier });
const { admin } = api;
const service = { db: api.db, secrets, courier, platform: DEFAULT_PLATFORM, eventBase: '' };
const PATH = '/event_destinations';
const target = { webhook: { url: 'https://hooks.example.com/tunnels?key=1' } };

test('a replay shows the signing secret', async () => {
  const headers = { 'idempotency-key': 'destination' };
  const first = await admin.post(PATH, { target }, headers);
  expect(first.as(eventDestination.view).signing_secret).toMatch(/^whsec_/);
  const again = await admin.post(PATH, { target }, headers);
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect(again.text).toBe(first.text);
});

test.each([
  ['/target', { target: 'https://hooks.example.com' }],
  ['/target', { target: {} }],
  ['/target/email', { target: { ...target, email: 'a@example.com' } }],
  ['/target/webhook/url', { target: { webhook: {} } }],
  ['/target/webhook/url', { target: { webhook: { url: 'https://user:secret@hooks.example.com' } } }],
  ['/signing_secret', { signing_secret: `whsec_${Buffer.alloc(65).toString('base64')}` }],
  ['/signing_secret', { signing_secret: `whsec_${'A'.repeat(43)}` }],
  ['/signing_secret', { signing_secret: Buffer.alloc(32).toString('base64') }],
])('a wrong %s is refused by name: %o', async (pointer, wrong) => {
  const { error } = await admin.post(PATH, { target, ...wrong });
  expect(error.error_code).toBe('INVALID_REQUEST');
  expect(error.details).toHaveProperty([pointer]);
});

test('a URL that the settings no longer allow can stay, but not be set anew', async () => {
  const open = await startTestApi({
    platform: { eventHttpHosts: ['broker.internal'], eventAllowNetworks: ['10.0.0.0/8'] },
  });
  const created = await Promise.all(
    ['http://broker.internal/a', 'https://10.0.0.1/a'].map((url) =>
      open.admin.post(PATH, { target: { webhook: { url } } }),
    ),
  );
  const strict = await startTestApi({ databaseUrl: open.databaseUrl });
  for (const { id, target: stored } of created.map((reply) => reply.as(eventDestination.view))) {
    const path = `${PATH}/${id}`;
    expect((await strict.admin.patch(path, { description: 'x', target: stored })).status).toBe(200);
    const other = { webhook: { url: `${stored.webhook?.url}/b` } };
    const { error } = await strict.admin.patch(path, { target: other });
    expect(error.details).toMatchObject({
      '/target/webhook/url': expect.stringMatching(/EVENT_(HTTP_HOSTS|ALLOW_NETWORKS)/),
    });
  }
});

const NOBODY_KNOWS = 'kept-5a0e-secret';
const secretTarget = { webhook: { url: `https://hooks.example.com/${NOBODY_KNOWS}` } };
const made = async (fields = {}) =>
  (await admin.post(PATH, { target: secretTarget, ...fields })).as(eventDestination.view);
const open = (id: string) => openDestination(api.db, secrets, id);
const until = (id: string, time: string) =>
  api.rows('update event_destinations set previous_signing_secret_until = $2 where id = $1', [id, time]);

test('pausing, resuming and rotating are events without a secret', async () => {
  const { id, signing_secret: first } = await made();
  const rotated = await admin.post(`${PATH}/${id}/rotate_secret`);
  const { signing_secret: second } = rotated.as(eventDestination.view);
  await admin.post(`${PATH}/${id}/pause`);
  expect(await open(id)).toBeUndefined();
  await admin.post(`${PATH}/${id}/resume`);
  expect(await open(id)).toMatchObject({ target: secretTarget, secrets: [second, first] });
  const events = await api.rows('select changed_fields, payload from events where resource_id = $1 order by id', [id]);
  expect(events.map(({ changed_fields }) => changed_fields)).toEqual([
    null,
    ['signing_secret_issued_at', 'previous_signing_secret_until', 'signing_secret'],
    ['status', 'paused_at', 'paused_reason'],
    ['status', 'paused_at', 'paused_reason'],
  ]);
  const everything = JSON.stringify([events, await api.rows('select t::text from event_destinations t')]);
  for (const secret of [NOBODY_KNOWS, first, second]) expect(everything).not.toContain(secret);
});

test('the secret before a rotation signs until the overlap ends, and no longer', async () => {
  const { id, signing_secret: first } = await made();
  const rotate = async (body = {}) =>
    (await admin.post(`${PATH}/${id}/rotate_secret`, body)).as(eventDestination.view).signing_secret;
  const second = await rotate({ overlap: 60 });
  expect((await open(id))?.secrets).toEqual([second, first]);
  await until(id, new Date(Date.now() - 1).toISOString());
  expect((await open(id))?.secrets).toEqual([second]);
  const third = await rotate();
  expect((await open(id))?.secrets).toEqual([third, second]);
  const fourth = await rotate({ overlap: 0 });
  expect((await open(id))?.secrets).toEqual([fourth]);
  expect((await admin.patch(`${PATH}/${id}`, { signing_secret: fourth })).status).toBe(200);
  expect((await admin.patch(`${PATH}/${id}`, { signing_secret: third })).status).toBe(400);
});

const rotateUnder = (id: string, key: string, body = {}, headers = {}) =>
  admin.post(`${PATH}/${id}/rotate_secret`, body, { 'idempotency-key': key, ...headers });

test('a rotation whose response was lost is repeated under its key, and its overlap begins anew', async () => {
  const { id, signing_secret: replaced } = await made();
  const match = { 'if-match': '"1"' };
  const first = (await rotateUnder(id, 'lost', { overlap: 60 }, match)).as(eventDestination.view);
  await until(id, new Date(Date.now() - 1).toISOString());
  expect((await open(id))?.secrets).toEqual([first.signing_secret]);
  const again = await rotateUnder(id, 'lost', { overlap: 60 }, match);
  expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true', etag: '"3"' });
  expect(again.as(eventDestination.view)).toEqual({ ...first, previous_signing_secret_until: expect.any(String) });
  expect((await open(id))?.secrets).toEqual([first.signing_secret, replaced]);
  // The record of a deleted destination goes with it.
  await admin.delete(`${PATH}/${id}`);
  expect((await rotateUnder(id, 'lost', { overlap: 60 })).status).toBe(404);
});

test('a repeated rotation shows no secret that another has replaced, nor one whose overlap was 0 anew', async () => {
  const { id } = await made();
  const first = (await rotateUnder(id, 'first', { overlap: 0 })).as(eventDestination.view);
  expect((await rotateUnder(id, 'first', { overlap: 0 })).as(eventDestination.view)).toEqual(first);
  const second = (await rotateUnder(id, 'second')).as(eventDestination.view);
  expect(Date.parse(second.signing_secret_issued_at)).toBeGreaterThanOrEqual(
    Date.parse(first.signing_secret_issued_at),
  );
  const again = await rotateUnder(id, 'first', { overlap: 0 });
  expect(again.as(eventDestination.view)).toEqual({ ...second, signing_secret: null });
  expect((await open(id))?.secrets).toEqual([second.signing_secret, first.signing_secret]);
});

test('rotations leave only the records that a request in flight may still repeat', async () => {
  const { id } = (await admin.post(PATH, { target }, { 'idempotency-key': 'made' })).as(eventDestination.view);
  const records = () => api.rows('select status from idempotency_keys where resource_id = $1 order by status', [id]);
  for (const key of ['old', 'young']) await rotateUnder(id, `${id}-${key}`);
  expect(await records()).toEqual([{ status: 200 }, { status: 200 }, { status: 201 }]);
  await api.rows("update idempotency_keys set created_at = created_at - interval '31 days' where resource_id = $1", [
    id,
  ]);
  await rotateUnder(id, `${id}-next`);
  expect(await records()).toEqual([{ status: 200 }, { status: 201 }]);
});

test('a rotation of the encryption key covers both signing secrets', async () => {
  const { id, signing_secret: first } = await made();
  const second = (await admin.post(`${PATH}/${id}/rotate_secret`)).as(eventDestination.view).signing_secret;
  const next = [{ id: 'next', bytes: Buffer.alloc(32, 8) }, ENCRYPTION_KEY] as const;
  const columns = SEALED.filter(({ table }) => table === 'event_destinations');
  await rotateEncryption(api.db, next, columns);
  const renewed = createSecrets([next[0]]);
  expect((await openDestination(api.db, renewed, id))?.secrets).toEqual([second, first]);
  await rotateEncryption(api.db, [ENCRYPTION_KEY, next[0]], columns);
});

test('a test event goes to a paused destination as any other event, and does not count', async () => {
  const { id, signing_secret } = await made({ format: 'thin' });
  await admin.post(`${PATH}/${id}/pause`);
  const before = (await admin.get(`${PATH}/${id}`)).text;
  answers.push({ delivered: false, status: 503, body: 'busy', error: 'the receiver answered 503' });
  const failed = (await admin.post(`${PATH}/${id}/test`)).as(destinationTest);
  expect(failed).toMatchObject({
    delivered: false,
    status_code: 503,
    answer: 'busy',
    error: 'the receiver answered 503',
  });
  answers.push({ delivered: true, status: 204 });
  const passed = (await admin.post(`${PATH}/${id}/test`, {})).as(destinationTest);
  expect(passed).toMatchObject({ delivered: true, status_code: 204, answer: null, error: null });
  expect(sent).toHaveLength(2);
  for (const { destination, event } of sent) {
    expect(destination).toEqual({ id, format: 'thin', target: secretTarget, secrets: [signing_secret] });
    expect(event).toMatchObject({ type: 'event_destination_test.v0', subject: id, principal: admin.id });
    expect(event.data).toMatchObject({ id, revision: 2, signing_secret: null });
    expect(JSON.stringify(event)).not.toContain(NOBODY_KNOWS);
  }
  expect(new Set(sent.map(({ event }) => event.id)).size).toBe(2);
  expect((await admin.get(`${PATH}/${id}`)).text).toBe(before);
});

test('deliveries show in a destination without a new revision; three days of failures pause it', async () => {
  const { id } = await made();
  const pause = (destinationId: string, reason: string) =>
    pauseFailing(service, eventDestinations, destinationId, reason);
  const note = (state: 'delivered' | 'pending', error: string | null = null) => {
    const delivery = { resourceId: 'x', id: 'x', retryMs: null, attempted: true, statusCode: null, answer: null };
    const attempt = { ...delivery, state, error, gone: false, occurredAt: null, requeued: false };
    return healthOf(api.db, id, { pause }).note([attempt]);
  };
  const hoursPass = (hours: number) =>
    api.rows(
      `update event_destinations set last_success_at = last_success_at - $2 * interval '1 hour',
         last_failure_at = last_failure_at - $2 * interval '1 hour', failing_since = failing_since - $2 * interval '1 hour'
        where id = $1`,
      [id, hours],
    );
  const shown = async () => (await admin.get(`${PATH}/${id}`)).as(eventDestination.view);
  await note('delivered');
  await hoursPass(1);
  await note('pending', 'it said no');
  const { failing_since } = await shown();
  await note('pending', 'it said never');
  const failing = await shown();
  expect(failing).toMatchObject({ status: 'active', failing_since, last_error: 'it said never' });
  const times = [failing.last_success_at, failing.failing_since, failing.last_failure_at];
  expect(times).toEqual([expect.any(String), expect.any(String), expect.any(String)]);
  expect(times.toSorted()).toEqual(times);
  expect((await admin.get(`${PATH}/${id}`)).headers.etag).toBe('"1"');
  // Anything that it was, an update may send back.
  const sentBack = await admin.patch(`${PATH}/${id}`, { ...failing, last_success_at: null, failing_since: times[2] });
  expect(sentBack.status).toBe(200);
  await note('delivered');
  expect(await shown()).toMatchObject({ failing_since: null, last_error: 'it said never' });
  await note('pending', 'it is gone');
  await hoursPass(71);
  await note('pending', 'it is gone');
  expect(await shown()).toMatchObject({ status: 'active' });
  await hoursPass(2);
  await note('pending', 'it is gone');
  expect(await shown()).toMatchObject({ status: 'paused', paused_reason: FAILING });
  // Somebody has repaired the receiver, or tries: it gets another three days.
  await admin.post(`${PATH}/${id}/resume`);
  await note('pending', 'it is gone');
  expect(await shown()).toMatchObject({ status: 'active', failing_since: expect.any(String) });
});

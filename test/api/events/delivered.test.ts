/** Events from a change to a receiver, through a running API. */
import { HTTP } from 'cloudevents';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openDatabase } from '../../../src/api/store/database.ts';
import { eventDestination } from '../../../src/resources/event-destination.ts';
import { destinationTest } from '../../../src/resources/event-destination-calls.ts';
import { atEnd } from '../../end-of-file.ts';
import { ADMIN_KEY, emptyDatabase } from '../harness.ts';
import { startedApi } from '../started-api.ts';
import { type ChaosReceiver, startReceiver } from './chaos-receiver.ts';
import { receiver as webServer } from './wire/receiver.ts';

const databaseUrl = await emptyDatabase();
const db = openDatabase({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 10_000, connectTimeoutMs: 5_000 });
atEnd(() => db.close());
const api = await startedApi({
  databaseUrl,
  bootstrapApiKey: ADMIN_KEY,
  encryptionKey: [{ id: 'tests', bytes: Buffer.alloc(32, 7) }],
  eventAllowNetworks: ['127.0.0.0/8'],
  eventHttpHosts: ['127.0.0.1'],
});
atEnd(() => api.stop());
const query = (text: string) => db.query({ text, values: [] });
const created = eventDestination.view.extend({ signing_secret: z.string() });

async function ask<T>(schema: z.ZodType<T>, path: string, body?: unknown, method?: string): Promise<T> {
  const { status, text } = await api.ask(ADMIN_KEY, path, body, method);
  expect(status, text).toBeLessThan(300);
  return schema.parse(JSON.parse(text));
}

async function destinationFor(receiver: Pick<ChaosReceiver, 'url' | 'secret'>, types: readonly string[]) {
  const made = await ask(created, '/event_destinations', { target: { webhook: { url: receiver.url } } });
  receiver.secret = made.signing_secret;
  const sources = types.map((type) => ({ type }));
  await ask(z.object({}), '/event_subscriptions', { sources, destination_ids: [made.id] });
  return made.id;
}
const newPolicy = async () => (await ask(z.object({ id: z.string() }), '/ip_policies', {})).id;

beforeEach(async () => {
  await query("update event_subscriptions set sources = '{}'");
});

test('a change arrives signed, once', async () => {
  const receiver = await startReceiver(() => 204);
  await destinationFor(receiver, ['ip_policy_created.v0']);
  const id = await newPolicy();
  await expect
    .poll(() => receiver.arrivals)
    .toEqual([
      { id: expect.stringMatching(/^ev_/), type: 'ip_policy_created.v0', subject: id, sequence: expect.any(String) },
    ]);
  expect(receiver.invalid).toEqual([]);
});

test('an update arrives as a CloudEvent that says who changed what, and where', async () => {
  const { port, received } = await webServer();
  await destinationFor({ url: `http://127.0.0.1:${port}`, secret: '' }, ['ip_policy_updated.v0']);
  const id = await newPolicy();
  await ask(z.object({}), `/ip_policies/${id}`, { description: 'Office' }, 'PATCH');
  await expect.poll(() => received).toHaveLength(1);
  const [admin] = await query('select id from users');
  const event = HTTP.toEvent({ headers: received[0]?.headers ?? {}, body: received[0]?.body });
  expect(event).toMatchObject({
    type: 'ip_policy_updated.v0',
    subject: id,
    source: expect.stringMatching(/^urn:tunnel-operator:[0-9a-f-]{36}$/),
    principal: admin?.id,
    sequence: expect.stringMatching(/^\d{19}$/),
    data: { id, description: 'Office', revision: 2, changed_fields: ['description'] },
  });
});

describe('a receiver that answers 410', () => {
  test('pauses its destination, of which another one hears; resumed, it gets what it has missed', async () => {
    let status = 410;
    const refusing = await startReceiver(() => status);
    const other = await startReceiver(() => 200);
    const id = await destinationFor(refusing, ['ip_policy_created.v0']);
    await destinationFor(other, ['event_destination_updated.v0']);
    const policy = await newPolicy();
    const read = () => ask(eventDestination.view, `/event_destinations/${id}`);
    await expect.poll(async () => (await read()).status).toBe('paused');
    expect(await read()).toMatchObject({
      paused_at: expect.any(String),
      paused_reason: expect.stringContaining('410'),
    });
    await expect.poll(() => other.arrivals.map(({ subject }) => subject)).toEqual([id]);
    const later = await newPolicy();
    status = 200;
    const attempts = refusing.arrivals.length;
    await ask(eventDestination.view, `/event_destinations/${id}/resume`, {});
    await expect.poll(() => refusing.arrivals.slice(attempts).map(({ subject }) => subject)).toEqual([policy, later]);
    expect(await read()).toMatchObject({ status: 'active', paused_at: null, paused_reason: null });
  });
});

test('a receiver verifies events by the secret before a rotation while it overlaps, and by the new one from then on', async () => {
  const receiver = await startReceiver(() => 204);
  const id = await destinationFor(receiver, ['ip_policy_created.v0']);
  const rotate = async (overlap: number) =>
    (await ask(created, `/event_destinations/${id}/rotate_secret`, { overlap })).signing_secret;
  const tested = () => ask(destinationTest, `/event_destinations/${id}/test`, {});
  const second = await rotate(3600);
  expect(await tested()).toMatchObject({ delivered: true, status_code: 204 });
  receiver.secret = second;
  await tested();
  const subject = await newPolicy();
  await expect.poll(() => receiver.arrivals.map((each) => each.subject)).toEqual([id, id, subject]);
  expect(receiver.invalid).toEqual([]);
  await rotate(0);
  await tested();
  expect(receiver.invalid).toHaveLength(1);
});

test('a destination shows its deliveries, and metrics count them', async () => {
  const receiver = await startReceiver(() => 204);
  const id = await destinationFor(receiver, ['ip_policy_created.v0']);
  await newPolicy();
  const read = () => ask(eventDestination.view, `/event_destinations/${id}`);
  await expect.poll(read).toMatchObject({ last_success_at: expect.any(String), failing_since: null });
  const metrics = (await api.ask('', '/metrics')).text;
  expect(metrics).toMatch(/^tunnel_api_event_deliveries_total\{result="delivered"\} [1-9]/m);
  // Measured after the start and every 15 s; a measurement that fails, or another API of this process that ends, removes it.
  await expect
    .poll(async () => (await api.ask('', '/metrics')).text, { timeout: 20_000 })
    .toMatch(/^tunnel_api_event_destinations_paused \d/m);
});

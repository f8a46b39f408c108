/** Receivers know secrets and repeat them in their answers; none is in anything that the service writes or shows. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { openDatabase } from '../../../src/api/store/database.ts';
import { eventDelivery } from '../../../src/resources/event-delivery.ts';
import { eventDestination, SIGNING_SECRET_PREFIX } from '../../../src/resources/event-destination.ts';
import { destinationTest } from '../../../src/resources/event-destination-calls.ts';
import { atEnd } from '../../end-of-file.ts';
import { startReceiver as startTraceReceiver } from '../../tracing/receiver.ts';
import { tracingTo } from '../../tracing/tracing.ts';
import { dumpOf } from '../dump.ts';
import { ADMIN_KEY, emptyDatabase } from '../harness.ts';
import { startedApi } from '../started-api.ts';

/** With characters that JSON, HTML and URLs spell in ways of their own. */
const SECRETS = {
  path: 'T0-hush1/xoxb-hush2',
  query: 'hush3/hush3+hush3==',
  header: 'Bearer hush4"hush4&hush4/hush4',
  datadog: 'hush5&hush5/hush5%hush5',
};

const traces = await startTraceReceiver();
atEnd(() => traces.close());
const tracing = await tracingTo(traces, { OTEL_BSP_SCHEDULE_DELAY: '1' });
const databaseUrl = await emptyDatabase();
const db = openDatabase({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 10_000, connectTimeoutMs: 5_000 });
atEnd(() => db.close());
const rows = (statement: string, values: unknown[] = []) => db.query({ text: statement, values });
const api = await startedApi(
  {
    databaseUrl,
    bootstrapApiKey: ADMIN_KEY,
    encryptionKey: [{ id: 'tests', bytes: Buffer.alloc(32, 7) }],
    eventAllowNetworks: ['127.0.0.0/8'],
    eventHttpHosts: ['127.0.0.1'],
  },
  tracing,
);
atEnd(() => api.stop());

/** A server in debug mode: its pages quote the request and its own settings. */
async function startEcho(status: number) {
  const settings: string[] = [];
  const server = createServer(async (request, response) => {
    const { url = '', headers } = request;
    const { host: _, ...shown } = headers;
    const page = `${settings.join(' ')} ${url} ${decodeURIComponent(url)} ${JSON.stringify(shown)}`;
    const inJson = JSON.stringify(page).replaceAll('/', '\\/');
    response.writeHead(status).end([page, inJson, page.replaceAll('&', '&amp;'), await text(request)].join('\n'));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${SECRETS.path}`;
  return { status, url, settings };
}

async function ask<T>(schema: z.ZodType<T>, path: string, body?: unknown, method?: string): Promise<T> {
  const { status, text: answer } = await api.ask(ADMIN_KEY, path, body, method);
  expect(status, answer).toBeLessThan(300);
  return schema.parse(JSON.parse(answer));
}

const withSecret = eventDestination.view.extend({ signing_secret: z.string() });
const signing: string[] = [];

/** A destination with two signing secrets. */
async function destination(target: object, settings: string[] = []) {
  const made = await ask(withSecret, '/event_destinations', { target });
  const { signing_secret: next } = await ask(withSecret, `/event_destinations/${made.id}/rotate_secret`, {});
  const keys = [made.signing_secret, next];
  settings.push(...keys);
  signing.push(...keys.map((secret) => secret.slice(SIGNING_SECRET_PREFIX.length)));
  return made.id;
}

test('no secret of a destination is in an event, a delivery, the log, a metric or a trace', async () => {
  const echoes = [await startEcho(200), await startEcho(500), await startEcho(200), await startEcho(410)];
  const ids: string[] = [];
  for (const [index, { url, settings }] of echoes.entries()) {
    const full = `${url}?token=${encodeURIComponent(SECRETS.query)}`;
    const logs = { otlp_logs: { url: full, headers: { 'x-team': SECRETS.header } } };
    ids.push(index < 2 ? await destination({ webhook: { url: full } }, settings) : await destination(logs));
  }
  const datadog = await destination({ datadog: { api_key: SECRETS.datadog } });
  await ask(z.object({}), `/event_destinations/${datadog}/pause`, {});
  const sources = ['ip_policy_created.v0', 'event_destination_updated.v0'].map((type) => ({ type }));
  await ask(z.object({}), '/event_subscriptions', { sources, destination_ids: [...ids, datadog] });

  const tests = [];
  for (const id of ids) tests.push(await ask(destinationTest, `/event_destinations/${id}/test`, {}));
  expect(tests.map(({ status_code, answer }) => [status_code, answer?.includes('…')])).toEqual(
    echoes.map(({ status }) => [status, true]),
  );
  await ask(z.object({}), '/ip_policies', {});
  const deliveries = z.object({ event_deliveries: z.array(eventDelivery.view) });
  const attempted = async () =>
    (await ask(deliveries, '/event_deliveries?filter[type]=ip_policy_created.v0')).event_deliveries
      .filter(({ attempts }) => attempts > 0)
      .map(({ destination_id, status_code }) => [destination_id, status_code]);
  await expect
    .poll(async () => new Map((await attempted()).map(([id, status]) => [id, status])))
    .toEqual(new Map(ids.map((id, index) => [id, echoes[index]?.status])));
  const changed = { target: { webhook: { url: `${echoes[0]?.url}/another` } } };
  await ask(z.object({}), `/event_destinations/${ids[0]}`, changed, 'PATCH');

  // What cannot be stored or opened gets into the log.
  await rows('alter table event_deliveries add constraint broken check (answer is null) not valid');
  await rows("update event_destinations set sealed_target = 'v1.tests.AAAA' where id = $1", [ids[2]]);
  await ask(z.object({}), '/ip_policies', {});
  await expect.poll(() => api.logs.some((line) => line.includes('could not deliver events'))).toBe(true);
  await rows('alter table event_deliveries drop constraint broken');
  await rows('delete from event_subscriptions');
  await rows('delete from event_destinations where id = $1', [ids[2]]);

  const events = await ask(z.object({ events: z.array(z.object({ id: z.string() })) }), '/events');
  const written = new Map([
    ...(await dumpOf({ rows })),
    [
      '/events',
      (await Promise.all(events.events.map(({ id }) => api.ask(ADMIN_KEY, `/events/${id}`))))
        .map((each) => each.text)
        .join(),
    ],
    ['/event_deliveries', (await api.ask(ADMIN_KEY, '/event_deliveries')).text],
    ['test', JSON.stringify(tests)],
    ['log', api.logs.join('\n')],
    ['/metrics', (await api.ask('', '/metrics')).text],
    ['traces', traces.requests.map(({ body }) => body.toString()).join('\n')],
  ]);
  expect(written.get('traces')).toContain('event_destinations');
  expect(written.get('/events')).toContain('event_destination_updated.v0');
  for (const [where, all] of written) {
    const found = ['hush', ...signing, ADMIN_KEY].filter((secret) => all.includes(secret));
    expect(found, where).toEqual([]);
  }
});

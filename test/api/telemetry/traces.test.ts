/** What the span of a request records, and what its client cannot influence. */
import { request as send } from 'node:http';
import { beforeEach, expect, test, vi } from 'vitest';
import { atEnd } from '../../end-of-file.ts';
import { type ReceivedSpan, startReceiver } from '../../tracing/receiver.ts';
import { tracingTo } from '../../tracing/tracing.ts';
import { ADMIN_KEY, startTestApi } from '../harness.ts';

const receiver = await startReceiver();
const tracing = await tracingTo(receiver, { OTEL_BSP_SCHEDULE_DELAY: '1' });
atEnd(() => receiver.close());
atEnd(() => tracing.stop());
const api = await startTestApi({ tracing });
const url = await api.app.listen({ port: 0, host: '127.0.0.1' });

beforeEach(() => void receiver.spans.splice(0));

/** The span of the only request of a test. */
function span(): Promise<ReceivedSpan> {
  return vi.waitFor(
    () => {
      const [only, ...more] = receiver.spans;
      expect(more).toEqual([]);
      if (!only) throw new Error('no span has been sent');
      return only;
    },
    { timeout: 10_000 },
  );
}

const authorization = `Bearer ${ADMIN_KEY}`;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

test('a request continues the trace of its caller', async () => {
  await fetch(`${url}/whoami?a=secret`, {
    headers: { authorization, traceparent: `00-${TRACE}-${CALLER}-01`, 'x-request-id': 'mine' },
  });
  expect(await span()).toMatchObject({ traceId: TRACE, parentId: CALLER, kind: 'server', name: 'GET /whoami' });
  expect((await span()).attributes).toEqual({
    'http.request.method': 'GET',
    'http.route': '/whoami',
    'url.path': '/whoami',
    'url.scheme': 'http',
    'server.address': '127.0.0.1',
    'http.response.status_code': 400,
    'http.response.header.x-request-id': ['mine'],
  });
});

test.each([
  ['no trace', 'garbage'],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${CALLER}-01`],
  ['a value that is too long', `00-${TRACE}-${CALLER}-01-${'a'.repeat(4_000)}`],
  ['two values', [`00-${TRACE}-${CALLER}-01`, `00-${TRACE}-${CALLER}-01`]],
])('a request whose traceparent has %s is answered in a new trace', async (_, traceparent) => {
  const headers = { authorization, traceparent, tracestate: 'a=b,'.repeat(500) };
  const status = await new Promise((resolve, reject) => {
    send(`${url}/whoami`, { headers }, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(200);
  const { traceId, parentId } = await span();
  expect([traceId, parentId]).toEqual([expect.not.stringMatching(`^(${TRACE}|0+)$`), undefined]);
});

test('probes and reads of the metrics have no span', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics']) await fetch(url + path);
  await fetch(`${url}/openapi.json`);
  expect(await span()).toMatchObject({ name: 'GET /openapi.json' });
});

test('a request that fails internally has a failed span', async () => {
  const broken = await startTestApi({ tracing });
  await broken.rows('drop table api_keys cascade');
  const { status } = await fetch(`${await broken.app.listen({ port: 0, host: '127.0.0.1' })}/whoami`, {
    headers: { authorization },
  });
  expect(status).toBeGreaterThanOrEqual(500);
  expect(await span()).toMatchObject({
    isError: true,
    attributes: { 'http.response.status_code': status, 'error.type': String(status) },
  });
});

test('the span of a request ends when its client goes away, and the log line names its trace', async () => {
  const body = send(`${url}/ip_policies`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', 'content-length': 900, 'x-request-id': 'gone' },
  }).on('error', () => undefined);
  body.write('{"desc');
  // The part of the body that has arrived counts as in flight.
  await vi.waitFor(async () => {
    expect((await api.anonymous.get('/metrics')).text).toMatch(/^tunnel_api_http_in_flight_bytes [1-9]/m);
  });
  body.destroy();
  const { traceId, isError, attributes } = await span();
  expect([isError, attributes['http.response.status_code']]).toEqual([false, 499]);
  const line = await vi.waitFor(() => {
    const found = api.logs.find((each) => each.includes('"gone"') && each.includes('"aborted":true'));
    if (found === undefined) throw new Error('not logged');
    return JSON.parse(found);
  });
  expect(line).toMatchObject({ trace_id: traceId });
});

import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type HttpAnswer, traceHttpCall } from '../../src/tracing/http-call.ts';
import { type ReceivedSpan, type Receiver, startReceiver } from './receiver.ts';
import { tracingTo } from './tracing.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
  onTestFinished(() => receiver.close());
});

async function spanOf(
  url: string,
  answer: HttpAnswer,
  env: Record<string, string> = {},
): Promise<{ span: ReceivedSpan | undefined; traceparent: string | undefined }> {
  const tracing = await tracingTo(receiver, env);
  const trace = traceHttpCall(tracing, { method: 'GET', url: new URL(url) });
  trace.end(answer);
  await tracing.stop();
  return { span: receiver.spans[0], traceparent: trace.headers.traceparent };
}

test('a call names its server and its path, but neither its user nor its query', async () => {
  const url = 'https://user:password@api.example.com/v1/users?before_id=secret';
  const { span, traceparent } = await spanOf(url, { status: 200, requestId: 'r-1' });
  expect(span).toMatchObject({ kind: 'client', name: 'GET', isError: false });
  expect(span?.attributes).toEqual({
    'http.request.method': 'GET',
    'http.response.status_code': 200,
    'http.response.header.x-request-id': ['r-1'],
    'server.address': 'api.example.com',
    'server.port': 443,
    'url.full': 'https://api.example.com/v1/users',
  });
  expect(traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
});

test.each<[string, HttpAnswer, object]>([
  ['is refused', { status: 404 }, { 'http.response.status_code': 404, 'error.type': '404' }],
  ['has no answer', { status: undefined, error: 'ECONNREFUSED' }, { 'error.type': 'ECONNREFUSED' }],
  [
    'breaks off',
    { status: 200, error: 'SocketError' },
    { 'http.response.status_code': 200, 'error.type': 'SocketError' },
  ],
  ['ends for an unknown reason', { status: undefined }, { 'error.type': 'unknown' }],
])('a call that %s has failed', async (_, answer, attributes) => {
  expect((await spanOf('http://api:8080/', answer)).span).toMatchObject({
    isError: true,
    attributes: { 'server.port': 8080, ...attributes },
  });
});

test.each([
  ['always_on', '0', '01'],
  ['always_off', '1', '00'],
  ['traceidratio', '0', '00'],
  ['parentbased_traceidratio', '1', '01'],
  ['parentbased_always_off', '1', '00'],
])('with the sampler %s and the ratio %s, traceparent has the flags %s', async (sampler, ratio, flags) => {
  const env = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio };
  const { span, traceparent } = await spanOf('http://api/', { status: 200 }, env);
  expect(traceparent?.slice(-2)).toBe(flags);
  expect(span !== undefined).toBe(flags === '01');
});

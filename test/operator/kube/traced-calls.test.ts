/** Which calls have a span, and what the span says. */
import { expect, onTestFinished, test } from 'vitest';
import { traced } from '../../../src/tracing/tracing.ts';
import { startReceiver } from '../../tracing/receiver.ts';
import { tracingTo } from '../../tracing/tracing.ts';
import { object } from '../objects.ts';
import { type Answer, answering, configFor, json, refusal } from './answering.ts';

const EVENTS = { group: '', version: 'v1', plural: 'events' };

async function setUp(answer: Answer) {
  const server = await answering(answer);
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const tracing = await tracingTo(receiver);
  const api = server.connect({ tracing, config: configFor(`${server.url}/below`) });
  await traced(tracing, { name: 'work' }, () => api.get(EVENTS, 'a').catch(() => undefined));
  await tracing.stop();
  return { spans: receiver.spans.filter(({ name }) => name !== 'work'), server };
}

test('a call made within a span gets a span of its own, and passes it on to the server', async () => {
  const { spans, server } = await setUp(json(object()));
  const url = `${server.url}/below/api/v1/events/a`;
  expect(spans).toMatchObject([{ name: 'GET', isError: false, attributes: { 'url.full': url } }]);
  expect(spans[0]?.attributes['http.response.status_code']).toBe(200);
  expect(server.asked[0]?.headers.traceparent).toBe(`00-${spans[0]?.traceId}-${spans[0]?.spanId}-01`);
});

test.each<[string, Answer, number | undefined, string]>([
  ['is refused', refusal(404), 404, '404'],
  ['is not answered', (response) => response.destroy(), undefined, 'UND_ERR_SOCKET'],
])('the span of a call that %s has the type of the error', async (_, answer, status, type) => {
  const { spans } = await setUp(answer);
  expect(spans).toMatchObject([{ isError: true, attributes: { 'error.type': type } }]);
  expect(spans[0]?.attributes['http.response.status_code']).toBe(status);
});

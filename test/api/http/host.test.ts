import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { closedIdempotencyKey, idempotencyDigest } from '../../../src/resources/definition/idempotency.ts';
import { endpointConfiguration } from '../../../src/resources/endpoint-configuration.ts';
import { eventSource, eventSubscription } from '../../../src/resources/event-subscription.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ADMIN_KEY, startTestApi } from '../harness.ts';

const api = await startTestApi({ baseUrl: undefined });
const { admin } = api;
const listen = async ({ app }: typeof api) => new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
const address = await listen(api);

/** Sends these bytes; returns everything received until the server closes the connection. */
function exchange(bytes: string, { port, hostname } = address): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      got += text;
    });
    socket.on('error', reject).on('close', () => resolve(got));
  });
}

const stored = async () =>
  JSON.stringify([
    await api.rows('select payload from events'),
    await api.rows('select body from idempotency_keys'),
    await api.rows('select * from resource_references'),
  ]);

test('the Host of a request appears in its response, and is not stored', async () => {
  const forged = (more = {}) => ({ host: 'forged.example', ...more });
  const key = { 'idempotency-key': 'forged-1' };
  const first = await admin.post('/ip_policies', {}, forged(key));
  const policy = first.as(ipPolicy.view);
  expect(policy.uri).toBe(`http://forged.example/ip_policies/${policy.id}`);
  await admin.patch(`/ip_policies/${policy.id}`, { description: 'x' }, forged());
  const rules = { rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] };
  await admin.put(`/ip_policies/${policy.id}/rules`, rules, forged());
  const body = { type: 'http', ip_policy_ids: [policy.id] };
  const made = await admin.post('/endpoint_configurations', body, forged({ 'idempotency-key': 'forged-2' }));
  const configuration = made.as(endpointConfiguration.view);
  const subscription = (await admin.post('/event_subscriptions', {}, forged())).as(eventSubscription.view);
  const sources = `/event_subscriptions/${subscription.id}/sources`;
  const type = { type: 'ip_policy_created.v0' };
  await admin.post(sources, type, forged({ 'idempotency-key': 'forged-3' }));
  expect(await stored()).not.toContain('forged');

  // A replay has the Host of its own request.
  const again = await admin.post('/ip_policies', {}, { host: 'other.example', ...key });
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect(again.text).toBe(first.text.replaceAll('forged.example', 'other.example'));
  expect(again.headers.location).toBe(`http://other.example/ip_policies/${policy.id}`);
  const replayed = await admin.post('/endpoint_configurations', body, {
    host: 'other.example',
    'idempotency-key': 'forged-2',
  });
  expect(replayed.text).toBe(made.text.replaceAll('forged.example', 'other.example'));
  expect(replayed.text).toContain(`http://other.example/ip_policies/${policy.id}`);
  const source = await admin.post(sources, type, { host: 'other.example', 'idempotency-key': 'forged-3' });
  expect(source.as(eventSource).uri).toMatch(/^http:\/\/other\.example\//);
  expect(source.headers.location).toBe(source.as(eventSource).uri);

  await admin.delete(`/endpoint_configurations/${configuration.id}`, forged());
  await admin.delete(`/ip_policies/${policy.id}`, forged());
  expect(await stored()).not.toContain('forged');
  const text = "select payload->>'uri' as uri from events where type = 'ip_policy_deleted.v0'";
  expect(z.array(z.object({ uri: z.string() })).parse(await api.rows(text))).toEqual([
    { uri: `/ip_policies/${policy.id}` },
  ]);
});

test('a replay completes only links, not values that look like links', async () => {
  const headers = { uri: '/x', id: '/y' };
  const send = () => admin.post('/backends/http_response', { headers }, { host: 'a', 'idempotency-key': 'links' });
  const first = await send();
  expect(first.status).toBe(201);
  expect((await send()).text).toBe(first.text);
});

describe('a request target in absolute form', () => {
  /** Sends a request with the key of the admin; returns the status and head of the response. */
  async function send(line: string, body: string, ...headers: string[]) {
    const own = ['host: a.example', 'connection: close', `authorization: Bearer ${ADMIN_KEY}`];
    const sent = [...own, 'content-type: application/json', `content-length: ${body.length}`, ...headers];
    const got = await exchange(`${line} HTTP/1.1\r\n${sent.join('\r\n')}\r\n\r\n${body}`);
    return { status: Number(got.split(' ')[1]), head: got.split('\r\n\r\n')[0]?.toLowerCase() };
  }

  test('is equivalent to its path alone, and its host is not stored', async () => {
    const { id } = (await admin.post('/event_subscriptions', {})).as(eventSubscription.view);
    const sources = `/event_subscriptions/${id}/sources`;
    const body = { type: 'user_created.v0' };
    const key = 'absolute-1';
    const made = await send(`POST http://evil.example${sources}`, JSON.stringify(body), `idempotency-key: ${key}`);
    expect(made.status).toBe(201);
    const replayed = await admin.post(sources, body, { 'idempotency-key': key });
    expect([replayed.status, replayed.headers['idempotency-replayed']]).toEqual([201, 'true']);
    const closing = `/idempotency_keys/${idempotencyDigest(key)}/closed`;
    const closed = await admin.put(closing, undefined, { host: 'a.example' });
    expect(closed.as(closedIdempotencyKey).resource?.uri).toBe(`http://a.example${sources}/${body.type}`);
  });
});

test('an invalid Host header is refused if no base URL is configured', async () => {
  const { error } = await admin.get('/ip_policies', { host: 'a.example/<script>' });
  expect(error.details.Host).toBe('must be a host name or address, optionally with a port');
  for (const host of ['a:99999', '1.2.3.256', '[::::]']) {
    expect((await admin.get('/whoami', { host })).error.details).toHaveProperty('Host');
  }
  const reply = await admin.get('/ip_policies?limit=1', { host: 'api.example:8443' });
  expect(JSON.parse(reply.text).uri).toBe('http://api.example:8443/ip_policies');
});

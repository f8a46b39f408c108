/**
 * The load of the memory bench: valid and invalid requests of all sorts, over and over, which leave the tables as they
 * were. Reports the number of requests on demand.
 */
import { connect } from 'node:net';
import { Agent, type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { BENCH_KEY } from '../keys.ts';

const CONNECTIONS = 8;
const url = process.env.BENCH_URL ?? '';
const dispatcher = new Agent({ connections: CONNECTIONS });
const counts = { requests: 0, unexpected: '' };
const made = z.object({ id: z.string() });

async function send(
  method: Dispatcher.HttpMethod,
  path: string,
  expected: number,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const response = await request(url + path, {
    dispatcher,
    method,
    headers: { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json', ...headers },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  });
  counts.requests++;
  const text = await response.body.text();
  if (response.statusCode !== expected) counts.unexpected ||= `${method} ${path}: ${response.statusCode} ${text}`;
  return text === '' ? undefined : JSON.parse(text);
}

/** One client's turn: every request, with the expected status; `n` is unique to the turn. */
async function turn(n: string): Promise<void> {
  const key = { 'idempotency-key': `memory-${n}` };
  const policy = { description: n, metadata: '{"bench":true}' };
  const { id } = made.parse(await send('POST', '/ip_policies', 201, policy, key));
  await send('POST', '/ip_policies', 201, policy, key);
  await send('POST', '/ip_policies', 422, { description: 'another' }, key);
  await send('GET', `/ip_policies/${id}`, 200);
  await send('GET', `/ip_policies/${id}`, 304, undefined, { 'if-none-match': '"1"' });
  await send('GET', '/ip_policies?limit=20', 200);
  await send('PATCH', `/ip_policies/${id}`, 200, { description: 'changed' });
  await send('PATCH', `/ip_policies/${id}`, 412, { description: 'late' }, { 'if-match': '"1"' });
  await send('PUT', `/ip_policies/${id}/rules`, 200, { rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] });
  const configuration = { type: 'https', ip_policy_ids: [id] };
  const referrer = made.parse(await send('POST', '/endpoint_configurations', 201, configuration));
  const credential = made.parse(await send('POST', '/credentials', 201, { acl: ['*'] }));
  await send('GET', `/credentials/${credential.id}`, 200);
  await send('DELETE', `/credentials/${credential.id}`, 204);
  await send('DELETE', `/endpoint_configurations/${referrer.id}`, 204);
  await send('DELETE', `/ip_policies/${id}`, 204);
  await send('GET', `/ip_policies/${id}`, 404);
  await send('POST', '/ip_policies', 400, { description: 7, unknown: true });
  await send('POST', '/ip_policies', 400, '{"description":');
  await send('GET', `/nothing/${n}`, 404);
  await send('PUT', '/ip_policies', 405, {});
  await send('GET', '/ip_policies', 401, undefined, { authorization: `Bearer unknown-${n}` });
  await aborted(`GET /ip_policies?limit=100 HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${BENCH_KEY}\r\n\r\n`);
  await aborted(
    `POST /ip_policies HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${BENCH_KEY}\r\ncontent-length: 900\r\n\r\n{`,
  );
}

/** A client that disconnects in the middle of its request or of the response. */
function aborted(bytes: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((done) => {
    const socket = connect(Number(port), hostname, () => {
      counts.requests++;
      socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), 2));
    });
    socket.on('error', () => undefined).on('close', () => done());
  });
}

let running = true;
process.on('message', () => process.send?.(counts));
for (const end of ['SIGTERM', 'disconnect']) {
  process.once(end, () => {
    running = false;
  });
}
process.send?.(url);
await Promise.all(
  Array.from({ length: CONNECTIONS }, async (_, client) => {
    for (let n = 0; running; n++) await turn(`${client}-${n}`);
  }),
);
await dispatcher.close();
if (process.connected) process.disconnect();

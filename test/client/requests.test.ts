/** What each call of the client sends. */
import { expect, test } from 'vitest';
import { type Client, createClient, etagOf } from '../../src/client/client.ts';
import { newId } from '../../src/resources/definition/id.ts';
import { idempotencyDigest } from '../../src/resources/definition/idempotency.ts';
import { atEnd } from '../end-of-file.ts';
import { type Answer, record } from './recorder.ts';

/** A body of no family: every call that reads a body fails once it has sent its request. */
const NOTHING: Answer = { status: 200, body: {} };
const ifMatch = '"7"';
const idempotencyKey = 'key-1';
const idempotencyPlace = { scope: 'scope-1', sequence: 3 };
const manager = { id: 'c/o', namespace: 'shop', kind: 'IPPolicy', name: 'office' };
const digest = idempotencyDigest('a?b');
const rules = [{ cidr: '192.0.2.0/24', action: 'allow' as const }];
const issuer = { issuer: 'https://a.example', client_id: 'a', client_secret: 'b' };

type Case = [sent: string, call: (client: Client) => Promise<unknown>, body?: unknown];

const reads: Case[] = [
  ['GET /ip_policies/a%3Fb', (client) => client.ipPolicies.get('a?b')],
  ['GET /ip_policies', (client) => client.ipPolicies.page()],
  ['GET /ip_policies?limit=2', (client) => client.ipPolicies.page({ limit: 2 })],
  ['GET /ip_policies?limit=2&before_id=x', (client) => client.ipPolicies.page({ limit: 2, beforeId: 'x' })],
  ['GET /ip_policies', (client) => client.ipPolicies.list().next()],
  [
    'GET /reserved_domains?filter%5Bdomain%5D=a.example.com',
    (client) => client.reservedDomains.list({ filter: { domain: 'a.example.com' } }).next(),
  ],
  [
    'GET /users?filter%5Bname%5D=a+b&created_after=2026-01-01T00%3A00%3A00Z&created_before=2027-01-01T00%3A00%3A00Z',
    (client) =>
      client.users.page({
        filter: { name: 'a b' },
        createdAfter: '2026-01-01T00:00:00Z',
        createdBefore: '2027-01-01T00:00:00Z',
      }),
  ],
  [
    'GET /ip_policies?filter%5Bmetadata_prefix%5D=m&before_metadata=mx&before_id=x',
    (client) => client.ipPolicies.page({ filter: { metadata_prefix: 'm' }, beforeMetadata: 'mx', beforeId: 'x' }),
  ],
  ['GET /edges/https/a%3Fb/routes/c', (client) => client.httpsEdgeRoutes('a?b').get('c')],
  ['GET /edges/https/a/routes/b%3Fc/oidc', (client) => client.httpsEdgeRouteModules('a', 'b?c').oidc.get()],
  ['GET /edges/https/a/routes/b/oauth', (client) => client.httpsEdgeRouteModules('a', 'b').oauth.get()],
  ['GET /edges/tls/a%3Fb/ip_restriction', (client) => client.tlsEdgeModules('a?b').ipRestriction.get()],
  ['GET /edges/tls/a/mutual_tls', (client) => client.tlsEdgeModules('a').mutualTls.get()],
  ['GET /edges/tls/a/backend', (client) => client.tlsEdgeModules('a').backend.get()],
  ['GET /event_subscriptions/a%3Fb/sources', (client) => client.eventSources('a?b').list()],
  ['GET /event_subscriptions/a/sources/x%3F.v0', (client) => client.eventSources('a').get('x?.v0')],
  ['GET /event_types', (client) => client.eventTypes()],
  ['GET /events/a%3Fb', (client) => client.events.get('a?b')],
  [
    'GET /events?filter%5Btype%5D=user_created.v0&filter%5Bprincipal%5D=usr_1',
    (client) => client.events.list({ filter: { type: 'user_created.v0', principal: 'usr_1' } }).next(),
  ],
  ['GET /event_deliveries/a%3Fb', (client) => client.eventDeliveries.get('a?b')],
  [
    'GET /event_deliveries?filter%5Bstate%5D=failed',
    (client) => client.eventDeliveries.list({ filter: { state: 'failed' } }).next(),
  ],
  ['POST /event_deliveries/a%3Fb/redeliver', (client) => client.eventDeliveries.redeliver('a?b'), {}],
  [
    'POST /event_destinations/a%3Fb/replay',
    (client) => client.eventDeliveries.replay('a?b', { since: '2026-11-21T10:00:00Z' }),
    { since: '2026-11-21T10:00:00Z' },
  ],
  ['GET /whoami', (client) => client.whoami()],
  ['GET /ip_policies/a%3Fb/rules', (client) => client.rulesOf('a?b')],
  ['POST /credentials/authenticate', (client) => client.authenticate({ token: 't' }), { token: 't' }],
  [`PUT /idempotency_keys/${digest}/closed`, (client) => client.closeIdempotencyKey('a?b')],
  [`GET /idempotency_scopes/${digest}`, (client) => client.idempotencyScope('a?b')],
  [`PUT /idempotency_scopes/${digest}/closed`, (client) => client.closeIdempotencyScope('a?b')],
  ['POST /ip_policies', (client) => client.ipPolicies.create({ metadata: 'm' }), { metadata: 'm' }],
  ['GET /resource_managers/a%3Fb', (client) => client.resourceManagers.get('a?b')],
];

const creates: Case[] = [
  [
    'POST /ip_policies',
    (client) => client.ipPolicies.create({ metadata: 'm' }, { idempotencyKey, idempotencyPlace }),
    { metadata: 'm' },
  ],
  [
    'POST /event_subscriptions/a/sources',
    (client) => client.eventSources('a').create('t', { idempotencyKey, idempotencyPlace }),
    { type: 't' },
  ],
];

const changes: Case[] = [
  [
    'PATCH /ip_policies/x',
    (client) => client.ipPolicies.update('x', { metadata: 'm' }, { ifMatch }),
    { metadata: 'm' },
  ],
  ['DELETE /ip_policies/x', (client) => client.ipPolicies.delete('x', { ifMatch })],
  ['PUT /ip_policies/a%3Fb/rules', (client) => client.replaceRules('a?b', { rules }, { ifMatch }), { rules }],
  ['DELETE /reserved_domains/a%3Fb/certificate', (client) => client.detachCertificate('a?b', { ifMatch })],
  [
    'DELETE /reserved_domains/a%3Fb/certificate_management_policy',
    (client) => client.detachCertificatePolicy('a?b', { ifMatch }),
  ],
  [
    'PUT /edges/https/a/routes/b/oidc',
    (client) => client.httpsEdgeRouteModules('a', 'b').oidc.put(issuer, { ifMatch }),
    issuer,
  ],
  ['DELETE /edges/https/a/routes/b/oidc', (client) => client.httpsEdgeRouteModules('a', 'b').oidc.delete({ ifMatch })],
  ['PATCH /event_subscriptions/a/sources/t', (client) => client.eventSources('a').update('t', { ifMatch }), {}],
  ['DELETE /event_subscriptions/a/sources/t', (client) => client.eventSources('a').delete('t', { ifMatch })],
];

const managed: Case[] = [
  ['POST /ip_policies', (client) => client.ipPolicies.create({}, { manager }), {}],
  ['PATCH /ip_policies/x', (client) => client.ipPolicies.update('x', {}, { manager }), {}],
  ['PUT /resource_managers/a%3Fb', (client) => client.resourceManagers.claim('a?b', { manager }), {}],
  [
    'PUT /resource_managers/a/modules',
    (client) => client.moduleManagers.claim('a', { manager, takeOverFrom: 'd/p' }),
    { take_over_from: 'd/p' },
  ],
  ['DELETE /resource_managers/a/modules', (client) => client.moduleManagers.release('a', { manager })],
];

const COMMON = { authorization: 'Bearer the-key', 'service-version': '2', 'user-agent': 'tunnel-operator-client' };
const CREATE = {
  'idempotency-key': 'key-1',
  'idempotency-scope': 'scope-1',
  'idempotency-sequence': '3',
};
const CHANGE = { 'if-match': '"7"' };
const MANAGED = { 'resource-manager': 'c/o; namespace=shop; kind=IPPolicy; name=office' };

test.each<[headers: Record<string, string>, ...Case]>([
  ...reads.map((each): [Record<string, string>, ...Case] => [{}, ...each]),
  ...creates.map((each): [Record<string, string>, ...Case] => [CREATE, ...each]),
  ...changes.map((each): [Record<string, string>, ...Case] => [CHANGE, ...each]),
  ...managed.map((each): [Record<string, string>, ...Case] => [MANAGED, ...each]),
])('the client sends %o with %s', async (headers, sent, call, body) => {
  const server = await record(NOTHING);
  const client = createClient({ baseUrl: `${server.url}/base//`, apiKey: 'the-key', retries: 0 });
  atEnd(() => client.close());
  await call(client).catch(() => {});
  const [request, ...others] = server.sent;
  expect(others).toEqual([]);
  expect(`${request?.method} ${request?.url}`).toBe(sent.replace(' /', ' /base/'));
  expect(request?.body).toEqual(body);
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const { host, connection, 'content-length': _, 'transfer-encoding': __, ...rest } = request?.headers ?? {};
  expect(rest).toEqual({ ...COMMON, ...headers, ...type });
});

test('every call can be aborted', async () => {
  const server = await record(null);
  const client = createClient({ baseUrl: server.url, apiKey: 'k' });
  atEnd(() => client.destroy());
  const signal = AbortSignal.abort(new Error('enough'));
  const route = client.httpsEdgeRouteModules('a', 'b');
  const sources = client.eventSources('a');
  const calls: Promise<unknown>[] = [
    client.ipPolicies.create({}, { signal }),
    client.ipPolicies.get('a', { signal }),
    client.ipPolicies.update('a', {}, { signal }),
    client.ipPolicies.delete('a', { signal }),
    client.ipPolicies.page({ signal }),
    client.ipPolicies.list({ signal }).next(),
    route.oidc.put(issuer, { signal }),
    route.oidc.get({ signal }),
    route.oidc.delete({ signal }),
    sources.create('t', { signal }),
    sources.get('t', { signal }),
    sources.list({ signal }),
    sources.update('t', { signal }),
    sources.delete('t', { signal }),
    client.eventTypes({ signal }),
    client.whoami({ signal }),
    client.replaceRules('a', { rules }, { signal }),
    client.rulesOf('a', { signal }),
    client.detachCertificate('a', { signal }),
    client.detachCertificatePolicy('a', { signal }),
    client.authenticate({ token: 't' }, { signal }),
    client.closeIdempotencyKey('a', { signal }),
    client.idempotencyScope('a', { signal }),
    client.closeIdempotencyScope('a', { signal }),
    client.resourceManagers.get('a', { signal }),
    client.resourceManagers.claim('a', { signal }),
    client.moduleManagers.release('a', { signal }),
  ];
  const outcomes = await Promise.all(calls.map((call) => call.catch((error: unknown) => String(error))));
  expect(outcomes).toEqual(calls.map(() => 'Error: enough'));
  expect(server.sent).toEqual([]);
});

const at = '2026-11-21T10:00:00.000Z';
const policy = (id: string) => ({
  id,
  uri: `https://a.example/ip_policies/${id}`,
  created_at: at,
  description: null,
  metadata: null,
});
const page = (ids: string[], next: string | null): Answer => ({
  status: 200,
  headers: { etag: '"list"' },
  body: {
    ip_policies: ids.map(policy),
    uri: 'https://a.example/ip_policies',
    next_page_uri: next && (next.startsWith('/') ? next : `https://a.example/ip_policies?before_id=${next}`),
  },
});

test('a list is read page by page, and its ETag is not that of its items', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((letter) => newId('ipp').slice(0, -1) + letter);
  if (!a || !b || !c) throw new Error('no ids');
  const server = await record(page([a, b], b), page([c], null));
  const client = createClient({ baseUrl: server.url, apiKey: 'k', retries: 0 });
  atEnd(() => client.close());
  const items = await Array.fromAsync(client.ipPolicies.list());
  expect(items.map(({ id }) => id)).toEqual([a, b, c]);
  expect(items.map(etagOf)).toEqual([undefined, undefined, undefined]);
  expect(server.sent.map(({ url }) => url)).toEqual(['/ip_policies', `/ip_policies?before_id=${b}`]);
});

test('the URI of the next page may be relative, but must lead to another page', async () => {
  const id = newId('ipp');
  const server = await record(page([id], `/ip_policies?before_id=${id}`), page([], '/ip_policies'), page([], id));
  const client = createClient({ baseUrl: server.url, apiKey: 'k', retries: 0 });
  atEnd(() => client.close());
  const list = () => Array.fromAsync(client.ipPolicies.list());
  const said = "the body's next_page_uri: does not lead to another page";
  await expect(list()).rejects.toThrow(said);
  await expect(list()).rejects.toThrow(said);
  const sent = ['/ip_policies', `/ip_policies?before_id=${id}`];
  expect(server.sent.map(({ url }) => url)).toEqual([...sent, ...sent]);
});

test('a list without a last page ends by its timeout', async () => {
  const [a, b] = [newId('ipp'), newId('ipp')];
  // One and the other, long enough for any machine.
  const pages = Array.from({ length: 1_000 }, (_, n) => page([], n % 2 === 0 ? a : b));
  const server = await record(page([], b), ...pages);
  const client = createClient({ baseUrl: server.url, apiKey: 'k', retries: 0, listTimeoutMs: 50 });
  atEnd(() => client.close());
  await expect(Array.fromAsync(client.ipPolicies.list())).rejects.toMatchObject({
    name: 'ApiUnreachableError',
    message: 'GET /ip_policies: the list has not ended in 0.05 s',
  });
});

test.each([
  [{}, /the body's id: /],
  [[], /the body's form: /],
])('the error for a malformed body names what is wrong with it: %o', async (body, said) => {
  const server = await record({ status: 200, body });
  const client = createClient({ baseUrl: server.url, apiKey: 'k', retries: 0 });
  atEnd(() => client.close());
  await expect(client.ipPolicies.get('a')).rejects.toThrow(said);
});

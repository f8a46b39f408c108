import { describe, expect, test, vi } from 'vitest';
import type { RateLimits } from '../../../src/api/http/rate-limit.ts';
import { createClient } from '../../../src/client/client.ts';
import { apiKey } from '../../../src/resources/api-key.ts';
import { heldTransaction, type Method, type Reply, startTestApi, untilWaiting } from '../harness.ts';

/** No test lives long enough to see the next one. */
const AN_HOUR = 3_600_000;
const LIMIT = 5;

const start = (rateLimits: Partial<RateLimits>, trustedProxies?: string[]) =>
  startTestApi({ rateLimits: { windowMs: AN_HOUR, ...rateLimits }, trustedProxies });

const refused = (reply: Reply) => {
  expect(reply.error).toMatchObject({ error_code: 'RATE_LIMITED', status_code: 429 });
  expect(reply.headers['retry-after']).toMatch(/^3[56]\d\d$/);
};

const times = async (count: number, call: () => Promise<Reply>) => {
  const replies: Reply[] = [];
  for (let n = 0; n < count; n++) replies.push(await call());
  return replies;
};

/** The last two are what the router itself refuses. */
const NOWHERE: [path: string, status: number][] = [
  ['/nothing', 404],
  ['/ip_policies/%zz', 400],
  [`/ip_policies/${'x'.repeat(101)}`, 404],
];

describe('an API key', async () => {
  const api = await start({ perKey: LIMIT });
  const users = await Promise.all([api.newUser(), api.newUser()]);
  const [user, other] = users;

  test('may make so many requests, and is told how many are left', async () => {
    const replies = await times(LIMIT, () => user.post('/ip_policies', { description: 'allowed' }));
    expect(replies.map(({ status, headers }) => [status, headers['ratelimit-limit']])).toEqual(
      Array(LIMIT).fill([201, String(LIMIT)]),
    );
    expect(replies.map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['4', '3', '2', '1', '0']);
  });

  test.each<[Method, string]>([
    ['GET', '/ip_policies'],
    ['HEAD', '/ip_policies'],
    ['POST', '/ip_policies'],
    ['DELETE', '/users/x'],
  ])('and then no %s %s, of which nothing is stored', async (method, path) => {
    const before = await api.rows('select count(*) from ip_policies');
    const reply = await user.send(method, path);
    expect(reply.status).toBe(429);
    expect(reply.headers['ratelimit-remaining']).toBe('0');
    if (method !== 'HEAD') refused(reply);
    expect(await api.rows('select count(*) from ip_policies')).toEqual(before);
  });

  test('has a limit of its own, also beside another of the same owner', async () => {
    expect((await other.get('/ip_policies')).headers['ratelimit-remaining']).toBe('4');
    const again = await start({ perKey: LIMIT });
    const second = await again.newKey(again.admin.id);
    await times(LIMIT, () => second.get('/ip_policies'));
    refused(await second.get('/ip_policies'));
    expect((await again.admin.get('/ip_policies')).status).toBe(200);
  });

  test('does not use it up by what is asked without one', async () => {
    await times(2 * LIMIT, () => api.anonymous.get('/ip_policies'));
    expect((await other.get('/ip_policies')).status).toBe(200);
  });

  test('that is at its limit leaves probes and the reference alone', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs/json']) {
      expect((await user.get(path)).status, path).toBe(200);
    }
    expect((await user.get('/healthz')).headers).not.toHaveProperty('ratelimit-limit');
  });

  test.each(NOWHERE)('counts what leads nowhere, too: %s', async (path, status) => {
    const { admin } = await start({ perKey: LIMIT });
    expect((await admin.get('/ip_policies')).status).toBe(200);
    const replies = await times(LIMIT - 1, () => admin.get(path));
    expect(replies.map((reply) => reply.status)).toEqual(Array(LIMIT - 1).fill(status));
    refused(await admin.get(path));
    refused(await admin.put('/ip_policies', {}));
  });

  test('counts what its caller may not do', async () => {
    const curious = await (await start({ perKey: LIMIT })).newUser();
    const replies = await times(LIMIT, () => curious.get('/users'));
    expect(replies.map(({ status }) => status)).toEqual(Array(LIMIT).fill(403));
    refused(await curious.get('/users'));
  });
});

describe('an owner', async () => {
  const OF_OWNER = LIMIT + 3;
  const api = await start({ perKey: LIMIT, perOwner: OF_OWNER });
  const first = await api.newUser();
  const second = await api.newKey(first.id);
  const seen = ({ status, headers }: Reply) => [status, headers['ratelimit-limit'], headers['ratelimit-remaining']];

  test('has a limit for all keys together, of which a key beyond its own limit uses up nothing', async () => {
    const replies = await times(2 * LIMIT, () => first.get('/ip_policies'));
    expect(replies.map(({ status }) => status)).toEqual([...Array(LIMIT).fill(200), ...Array(LIMIT).fill(429)]);
    const others = await times(4, () => second.get('/ip_policies'));
    expect(others.slice(0, 3).map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const reply of others.slice(3)) refused(reply);
  });

  test('is told the tighter of the two limits', async () => {
    const other = await start({ perKey: LIMIT, perOwner: OF_OWNER });
    const caller = await other.newKey(other.admin.id);
    // One request has been made with the admin's first key.
    const replies = await times(2, () => caller.get('/ip_policies'));
    expect(replies.map(seen)).toEqual([
      [200, String(LIMIT), '4'],
      [200, String(LIMIT), '3'],
    ]);
    await times(3, () => other.admin.get('/ip_policies'));
    expect(seen(await caller.get('/ip_policies'))).toEqual([200, String(OF_OWNER), '1']);
    await caller.get('/ip_policies');
    expect(seen(await other.admin.get('/ip_policies'))).toEqual([429, String(OF_OWNER), '0']);
  });

  test('leaves others alone', async () => {
    expect((await api.admin.get('/ip_policies')).status).toBe(200);
  });

  test('may be limited without a limit for each key', async () => {
    const { admin } = await start({ perKey: 0, perOwner: 1 });
    expect(seen(await admin.get('/ip_policies'))).toEqual([200, '1', '0']);
    refused(await admin.get('/ip_policies'));
  });
});

describe('an address', async () => {
  const api = await start({ perKey: 0, perAddress: LIMIT }, ['127.0.0.1']);
  const { anonymous, admin } = api;
  const user = await api.newUser();
  const unknown = (n: number) => ({ authorization: `Bearer tnl_ak_guess_${n}` });
  let guesses = 0;
  const guess = (headers = {}) => anonymous.get('/ip_policies', { ...unknown(guesses++), ...headers });
  expect((await admin.get('/ip_policies')).status).toBe(200);

  test('may send so many unknown keys', async () => {
    const replies = await times(LIMIT, guess);
    expect(replies.map(({ status }) => status)).toEqual(Array(LIMIT).fill(401));
  });

  test('and then no unknown key, nor none', async () => {
    refused(await guess());
    refused(await anonymous.get('/ip_policies'));
  });

  test('but goes on with a valid key, also one that nobody has used before', async () => {
    expect((await user.get('/ip_policies')).status).toBe(200);
    expect((await admin.get('/ip_policies')).status).toBe(200);
  });

  test('is that of the peer, or what a trusted proxy says', async () => {
    const other = { 'x-forwarded-for': '203.0.113.7' };
    expect((await guess(other)).status).toBe(401);
    expect((await user.get('/ip_policies', other)).status).toBe(200);
    const untrusting = await start({ perAddress: LIMIT });
    await times(LIMIT, () => untrusting.anonymous.get('/ip_policies'));
    refused(await untrusting.anonymous.get('/ip_policies', other));
  });

  test('in IPv6 is a network of 64 bits, which one household has', async () => {
    const from = (address: string) => guess({ 'x-forwarded-for': address });
    for (let n = 0; n < LIMIT; n++) expect((await from(`2001:db8::${n}`)).status).toBe(401);
    expect((await from('2001:db8::ffff')).status).toBe(429);
    expect((await from('2001:db8:0:1::1')).status).toBe(401);
  });

  test.each([
    ['the port too, which is another for each connection', (n: number) => `198.51.100.1:${4_000 + n}`],
    ['the port too, of an address in IPv6', (n: number) => `[2001:db8:0:2::1]:${4_000 + n}`],
    ['what is no address', (n: number) => `_hidden${n}`],
  ])('is one for all of whom the proxy says %s', async (_, address) => {
    for (let n = 0; n < LIMIT; n++) expect((await guess({ 'x-forwarded-for': address(n) })).status).toBe(401);
    expect((await guess({ 'x-forwarded-for': address(LIMIT) })).status).toBe(429);
  });
});

test('a key that is deleted becomes unknown again', async () => {
  const api = await start({ perAddress: 1 });
  const user = await api.newUser();
  expect((await user.get('/ip_policies')).status).toBe(200);
  await api.rows('delete from api_keys where owner_id = $1', [user.id]);
  expect((await user.get('/ip_policies')).status).toBe(401);
  refused(await user.get('/ip_policies'));
});

test('a key that is deleted uses up nothing of its owner, where it is not looked up', async () => {
  const api = await start({ perKey: 5, perOwner: 8 });
  const user = await api.newUser();
  const path = '/api_keys';
  const { token, id } = (await api.admin.post(path, { owner_id: user.id })).as(apiKey.view);
  const leaked = { authorization: `Bearer ${token}` };
  expect((await api.anonymous.get('/ip_policies', leaked)).status).toBe(200);
  expect((await api.admin.delete(`${path}/${id}`)).status).toBe(204);
  const unrouted: number[] = [];
  for (let n = 0; n < 10; n++) unrouted.push((await api.anonymous.get('/nothing', leaked)).status);
  expect(unrouted).toEqual([...Array(4).fill(404), ...Array(6).fill(429)]);
  for (let n = 0; n < 5; n++) expect((await user.get('/ip_policies')).status).toBe(200);
});

describe('what leads nowhere and is sent with a valid key', () => {
  const ask = async (caller: { get(path: string): Promise<Reply> }, count: number, path = '/nothing') =>
    (await times(count, () => caller.get(path))).map(({ status }) => status);

  test('has one limit for all keys of an owner, apart from that of other requests', async () => {
    const { admin, newKey } = await start({ perKey: LIMIT, perOwner: 5 });
    const another = await newKey(admin.id);
    for (const caller of [admin, another]) expect(await ask(caller, 1, '/ip_policies')).toEqual([200]);
    // The other key was made with this one.
    expect(await ask(admin, 3)).toEqual([404, 404, 404]);
    expect(await ask(another, 3)).toEqual([404, 404, 429]);
    expect(await ask(another, 1, '/ip_policies')).toEqual([200]);
  });

  test('has it also where a single key has no limit', async () => {
    const { admin } = await start({ perKey: 0, perOwner: 3 });
    expect(await ask(admin, 1, '/ip_policies')).toEqual([200]);
    expect(await ask(admin, 4)).toEqual([404, 404, 404, 429]);
    expect(await ask(admin, 1, '/ip_policies')).toEqual([200]);
  });

  test('counts for the address where neither keys nor owners have a limit', async () => {
    const { admin, anonymous } = await start({ perKey: 0, perOwner: 0, perAddress: 3 });
    expect(await ask(admin, 1, '/ip_policies')).toEqual([200]);
    expect(await ask(admin, 4)).toEqual([404, 404, 404, 429]);
    expect(await ask(anonymous, 1)).toEqual([429]);
    expect(await ask(admin, 1, '/ip_policies')).toEqual([200]);
  });
});

test('beyond the limit of their address, keys are looked up one after the other until a valid one is known', async () => {
  const api = await start({ perAddress: 1 });
  const user = await api.newUser();
  const guess = (_: unknown, n: number) => api.anonymous.get('/ip_policies', { authorization: `Bearer tnl_ak_${n}` });
  expect((await guess(0, 0)).status).toBe(401);
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table api_keys in access exclusive mode');
  const query = vi.spyOn(api.db, 'query');
  const lookups = () => query.mock.calls.filter(([{ name }]) => name === 'authenticate').length;
  const flood = Array.from({ length: 10 }, guess);
  const asked = user.get('/ip_policies');
  await untilWaiting(api, 1);
  for (let turn = 0; turn < 10; turn++) await new Promise((next) => setImmediate(next));
  expect(lookups()).toBe(1);
  await held.rollback();
  for (const reply of await Promise.all(flood)) refused(reply);
  expect((await asked).status).toBe(200);
  expect(lookups()).toBe(11);
  query.mockRestore();
});

test('of the keys that are known, the one that was used longest ago is forgotten', async () => {
  const { admin, anonymous, newUser } = await start({ perAddress: 1, knownKeys: 2 });
  const [idle, newest] = [await newUser(), await newUser()];
  for (const { get } of [admin, idle, admin, newest]) expect((await get('/ip_policies')).status).toBe(200);
  expect((await anonymous.get('/ip_policies')).status).toBe(401);
  // Paths that lead nowhere count for a key that is known, and else for the address.
  refused(await idle.get('/nothing'));
  for (const { get } of [admin, newest]) expect((await get('/nothing')).status).toBe(404);
});

test('without limits nothing is counted and no header tells of them', async () => {
  const { admin, anonymous } = await start({ perKey: 0, perOwner: 0, perAddress: 0 });
  const { headers } = await admin.get('/ip_policies');
  expect(Object.keys(headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
  for (const reply of await times(20, () => anonymous.get('/ip_policies'))) expect(reply.status).toBe(401);
});

test('the client waits for as long as it is told, and then succeeds', async () => {
  const { app, admin } = await start({ perKey: 1, windowMs: 300 });
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  const statuses: (number | undefined)[] = [];
  const client = createClient({
    baseUrl,
    apiKey: admin.key,
    retries: 5,
    onAttempt: ({ status }) => void statuses.push(status),
  });
  await client.ipPolicies.create({}, { idempotencyKey: 'waits' });
  await client.ipPolicies.create({}, { idempotencyKey: 'waits-too' });
  await client.close();
  expect(statuses.filter((status) => status === 201)).toHaveLength(2);
  // Retry-After has whole seconds: one refusal is enough.
  expect(statuses.filter((status) => status === 429).length).toBeLessThanOrEqual(1);
});

test('a key at its limit is refused without being looked up', async () => {
  const api = await start({ perKey: LIMIT });
  await times(LIMIT, () => api.admin.get('/ip_policies'));
  await api.rows('alter table api_keys rename to api_keys_away');
  refused(await api.admin.get('/ip_policies'));
});

describe('a stranger', async () => {
  const api = await start({ perKey: 0, perAddress: LIMIT }, ['127.0.0.1']);
  const from = (n: number) => ({ 'x-forwarded-for': `192.0.2.${n}` });
  // Known to be valid, and so not refused for what strangers do.
  expect((await api.admin.get('/ip_policies')).status).toBe(200);
  test.each(NOWHERE)('may as often ask for %s, which counts for a valid key instead', async (path, status) => {
    const address = { 'x-forwarded-for': `2001:db8:${path.length}::1` };
    const missing = await times(LIMIT, () => api.anonymous.get(path, address));
    expect(missing.map((reply) => reply.status)).toEqual(Array(LIMIT).fill(status));
    refused(await api.anonymous.post('/nothing', {}, address));
    refused(await api.anonymous.put('/ip_policies', {}, address));
    refused(await api.anonymous.get('/openapi.json', address));
    for (const reply of await times(2 * LIMIT, () => api.admin.get(path, address))) expect(reply.status).toBe(status);
  });

  test('may as often speak another version', async () => {
    const ask = () => api.anonymous.get('/ip_policies', { 'service-version': '9', ...from(91) });
    for (const reply of await times(LIMIT, ask)) expect(reply.status).toBe(401);
    refused(await ask());
  });

  const PATHS = ['/metrics', '/openapi.json', '/docs/', '/docs/json', '/docs/static/swagger-ui.css'];

  test.each(PATHS.entries().toArray())('%i: may ask for %s as often as for what needs a key', async (n, path) => {
    const ask = () => api.anonymous.get(path, from(n));
    const replies = await times(LIMIT, ask);
    expect(replies.map(({ status }) => status)).toEqual(Array(LIMIT).fill(200));
    refused(await ask());
    // One limit for all of it.
    for (const other of PATHS) refused(await api.anonymous.get(other, from(n)));
    refused(await api.anonymous.get('/ip_policies', { authorization: 'Bearer tnl_ak_guess', ...from(n) }));
    expect((await api.admin.get('/ip_policies', from(n))).status).toBe(200);
    for (const probe of ['/healthz', '/readyz']) expect((await api.anonymous.get(probe, from(n))).status).toBe(200);
    expect((await api.anonymous.get(path, from(100 + n))).status).toBe(200);
  });
});

import { describe, expect, test } from 'vitest';
import { addressOf, type RateLimits } from '../../../src/api/guard/rate-limit.ts';
import { ACCOUNT_HEADER, account } from '../../../src/resources/account.ts';
import { apiKey } from '../../../src/resources/api-key.ts';
import { user } from '../../../src/resources/user.ts';
import { type Reply, startTestApi } from '../harness.ts';

/** Longer than any test, so that no second window begins. */
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

describe('an API key', async () => {
  const api = await start({ perKey: LIMIT });
  const users = await Promise.all([api.newUser(), api.newUser()]);
  const [user, other] = users;

  test('may make a limited number of requests, and is told how many are left', async () => {
    const replies = await times(LIMIT, () => user.post('/ip_policies', { description: 'allowed' }));
    expect(replies.map(({ status, headers }) => [status, headers['ratelimit-limit']])).toEqual(
      Array(LIMIT).fill([201, String(LIMIT)]),
    );
    expect(replies.map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['4', '3', '2', '1', '0']);
  });

  test('has its own limit, apart from other keys of the same owner', async () => {
    expect((await other.get('/ip_policies')).headers['ratelimit-remaining']).toBe('4');
    const again = await start({ perKey: LIMIT });
    const second = await again.newKey(again.admin.id);
    await times(LIMIT, () => second.get('/ip_policies'));
    refused(await second.get('/ip_policies'));
    expect((await again.admin.get('/ip_policies')).status).toBe(200);
  });

  test('that is at its limit may still use the probes and the reference', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs/json']) {
      expect((await user.get(path)).status, path).toBe(200);
    }
    expect((await user.get('/healthz')).headers).not.toHaveProperty('ratelimit-limit');
  });
});

describe('an owner', async () => {
  const OF_OWNER = LIMIT + 3;
  const api = await start({ perKey: LIMIT, perOwner: OF_OWNER });
  const first = await api.newUser();
  const second = await api.newKey(first.id);
  const seen = ({ status, headers }: Reply) => [status, headers['ratelimit-limit'], headers['ratelimit-remaining']];

  test('has a limit for all its keys together; requests beyond the limit of a key do not count', async () => {
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
});

test('the keys of an account share its limit, which can change at any time; other accounts are not affected', async () => {
  const api = await start({ windowMs: 60_000, perKey: 0, perOwner: 0 });
  const { id } = (await api.admin.post('/accounts', { name: 'a team' })).as(account.view);
  const inside = { [ACCOUNT_HEADER]: id };
  const newMember = async () => {
    const owner = (await api.admin.post('/users', { name: 'Ada', admin: true }, inside)).as(user.view);
    const { token } = (await api.admin.post('/api_keys', { owner_id: owner.id }, inside)).as(apiKey.view);
    return api.withKey(owner.id, String(token));
  };
  const [one, other] = [await newMember(), await newMember()];
  for (const caller of [one, other])
    expect((await caller.get('/account')).headers).not.toHaveProperty('ratelimit-limit');
  await api.admin.patch(`/accounts/${id}`, { requests_per_second: 1 });
  // Counted by the limit that was read before; these requests read the new one.
  for (const caller of [one, other]) await caller.get('/account');
  const replies = [...(await times(30, () => one.get('/account'))), ...(await times(30, () => other.get('/account')))];
  expect(replies.map(({ status }) => status)).toEqual(Array(60).fill(200));
  expect(replies.at(-1)?.headers).toMatchObject({ 'ratelimit-limit': '60', 'ratelimit-remaining': '0' });
  for (const caller of [one, other]) {
    const reply = await caller.get('/account');
    expect(reply.error.error_code).toBe('RATE_LIMITED');
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
  }
  expect((await api.admin.get('/account', inside)).status).toBe(200);
});

describe('an address', async () => {
  const api = await start({ perKey: 0, perAddress: LIMIT }, ['127.0.0.1']);
  const { anonymous, admin } = api;
  const user = await api.newUser();
  const unknown = (n: number) => ({ authorization: `Bearer tnl_ak_guess_${n}` });
  let guesses = 0;
  const guess = (headers = {}) => anonymous.get('/ip_policies', { ...unknown(guesses++), ...headers });
  expect((await admin.get('/ip_policies')).status).toBe(200);

  test('may send a limited number of unknown keys', async () => {
    const replies = await times(LIMIT, guess);
    expect(replies.map(({ status }) => status)).toEqual(Array(LIMIT).fill(401));
  });

  test('is then refused, with an unknown key or without a key', async () => {
    refused(await guess());
    refused(await anonymous.get('/ip_policies'));
  });

  test('may still use a key that was valid when last seen', async () => {
    expect((await admin.get('/ip_policies')).status).toBe(200);
  });

  test('is that of the peer, or the one that a trusted proxy reports', async () => {
    const other = { 'x-forwarded-for': '203.0.113.7' };
    expect((await guess(other)).status).toBe(401);
    expect((await user.get('/ip_policies', other)).status).toBe(200);
    const untrusting = await start({ perAddress: LIMIT });
    await times(LIMIT, () => untrusting.anonymous.get('/ip_policies'));
    refused(await untrusting.anonymous.get('/ip_policies', other));
  });

  test.each([
    ['203.0.113.7:49152', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:49152', '2001:db8::1'],
  ])('counts as the same however a proxy writes it: %s', (written, plain) => {
    expect(addressOf({ ip: written })).toBe(addressOf({ ip: plain }));
  });

  test('in IPv6 counts as its /64 network, since a household may have all of that', async () => {
    const from = (address: string) => guess({ 'x-forwarded-for': address });
    for (let n = 0; n < LIMIT; n++) expect((await from(`2001:db8::${n}`)).status).toBe(401);
    expect((await from('2001:db8::ffff')).status).toBe(429);
    expect((await from('2001:db8:0:1::1')).status).toBe(401);
  });
});

test('beyond the limit of an address, only keys that were valid when last seen are looked up', async () => {
  const api = await start({ perAddress: 1 });
  const [known, fresh] = [await api.newUser(), await api.newUser()];
  expect((await known.get('/ip_policies')).status).toBe(200);
  expect((await api.anonymous.get('/ip_policies')).status).toBe(401);
  refused(await fresh.get('/ip_policies'));
  expect((await known.get('/ip_policies')).status).toBe(200);
});

test('the least recently used of the known keys is forgotten', async () => {
  const { admin, anonymous, newUser } = await start({ perAddress: 1, knownKeys: 2 });
  const [idle, newest] = [await newUser(), await newUser()];
  for (const { get } of [admin, idle, admin, newest]) expect((await get('/ip_policies')).status).toBe(200);
  expect((await anonymous.get('/ip_policies')).status).toBe(401);
  refused(await idle.get('/ip_policies'));
  for (const { get } of [admin, newest]) expect((await get('/ip_policies')).status).toBe(200);
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
  // A key that is known to be valid is not refused because of strangers.
  expect((await api.admin.get('/ip_policies')).status).toBe(200);
  test('may request unknown paths only up to the limit of its address', async () => {
    const address = { 'x-forwarded-for': '2001:db8:9::1' };
    const missing = await times(LIMIT, () => api.anonymous.get('/nothing', address));
    expect(missing.map((reply) => reply.status)).toEqual(Array(LIMIT).fill(404));
    refused(await api.anonymous.put('/ip_policies', {}, address));
    refused(await api.anonymous.get('/openapi.json', address));
    expect((await api.admin.get('/ip_policies', address)).status).toBe(200);
  });

  const PATHS = ['/metrics', '/openapi.json', '/docs/', '/docs/json', '/docs/static/swagger-ui.css'];

  test.each(PATHS.entries().toArray())('%i: may request %s only up to the limit of its address', async (n, path) => {
    const ask = () => api.anonymous.get(path, from(n));
    const replies = await times(LIMIT, ask);
    expect(replies.map(({ status }) => status)).toEqual(Array(LIMIT).fill(200));
    refused(await ask());
    // All of these count against one limit.
    for (const other of PATHS) refused(await api.anonymous.get(other, from(n)));
    refused(await api.anonymous.get('/ip_policies', { authorization: 'Bearer tnl_ak_guess', ...from(n) }));
    expect((await api.admin.get('/ip_policies', from(n))).status).toBe(200);
    for (const probe of ['/healthz', '/readyz']) expect((await api.anonymous.get(probe, from(n))).status).toBe(200);
    expect((await api.anonymous.get(path, from(100 + n))).status).toBe(200);
  });
});

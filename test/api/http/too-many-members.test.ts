/** What costs too much to look at is refused before. */
import { expect, test } from 'vitest';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const policy: { id: string } = JSON.parse((await admin.post('/ip_policies', {})).text);
const group: { id: string } = JSON.parse((await admin.post('/backends/tunnel_group', { labels: { a: 'b' } })).text);

const empty = Array(9_000).fill({});
const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1]));

test.each<[string, 'post' | 'put' | 'patch', string, object, string, string]>([
  [
    'rules',
    'put',
    `/ip_policies/${policy.id}/rules`,
    { rules: empty },
    '/rules',
    'has 9000 elements; at most 1000 are allowed',
  ],
  [
    'what stands for rules',
    'put',
    `/ip_policies/${policy.id}/rules`,
    { ip_policy_rules: empty },
    '/ip_policy_rules',
    'shows rules; set that',
  ],
  [
    'labels',
    'patch',
    `/backends/tunnel_group/${group.id}`,
    { labels: members(15_000) },
    '/labels',
    'has 15000 members; at most 20 are allowed',
  ],
  [
    'headers',
    'post',
    '/backends/http_response',
    { headers: members(15_000) },
    '/headers',
    'has 15000 members; at most 64 are allowed',
  ],
  [
    'sources',
    'post',
    '/event_subscriptions',
    { sources: empty },
    '/sources',
    'has 9000 elements; at most 500 are allowed',
  ],
])('too many of %s are one problem, not one for each', async (_, method, path, body, pointer, reason) => {
  const { error } = await admin[method](path, body);
  const { request_id, ...details } = error.details;
  expect(error.status_code).toBe(400);
  expect(details).toEqual({ [pointer]: reason });
});

test.each(['ip_policies', 'event_subscriptions'])('unknown members of %s are 50 problems at most', async (path) => {
  const { error } = await admin.post(`/${path}`, members(52));
  const { request_id, ...details } = error.details;
  expect(Object.entries(details)).toHaveLength(50);
  expect(details).toMatchObject({ '/k0': 'unknown field', '/k49': 'unknown field' });
});

test('very many unknown members are one problem', async () => {
  const { error } = await admin.post('/ip_policies', members(15_000));
  const { request_id, ...details } = error.details;
  expect(details).toEqual({ body: 'has 15000 members, far more than it can have' });
});

import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { sizeOf } from '../../../src/api/http/body-size.ts';
import { parseBody } from '../../../src/api/http/validation.ts';
import { NOTHING_READ_ONLY } from '../../../src/resources/definition/read-only.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const policy: { id: string } = JSON.parse((await admin.post('/ip_policies', {})).text);
const group: { id: string } = JSON.parse((await admin.post('/backends/tunnel_group', { labels: { a: 'b' } })).text);

const empty = Array(300_000).fill({});
const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1]));

test.each<[string, 'post' | 'put' | 'patch', string, object, string, string]>([
  [
    'rules',
    'put',
    `/ip_policies/${policy.id}/rules`,
    { rules: empty },
    '/rules',
    'has 300000 elements; at most 1000 are allowed',
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
    { labels: members(70_000) },
    '/labels',
    'has 70000 members; at most 20 are allowed',
  ],
  [
    'headers',
    'post',
    '/backends/http_response',
    { headers: members(70_000) },
    '/headers',
    'has 70000 members; at most 64 are allowed',
  ],
  [
    'sources',
    'post',
    '/event_subscriptions',
    { sources: empty },
    '/sources',
    'has 300000 elements; at most 500 are allowed',
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
  const { error } = await admin.post('/ip_policies', members(80_000));
  const { request_id, ...details } = error.details;
  expect(details).toEqual({ body: 'has 80000 members, far more than it can have' });
});

let looks = 0;
const looked = z.string().refine(() => ++looks > 0);
const NESTED = z.strictObject({
  lists: z.array(z.array(looked).max(3)).max(2).nullable().optional(),
  maps: z.record(z.string(), looked).meta({ maxProperties: 2 }).optional(),
});

function refusal(body: unknown): unknown {
  try {
    const size = sizeOf(NESTED, NOTHING_READ_ONLY);
    parseBody({ schema: NESTED, readOnly: NOTHING_READ_ONLY, size, creates: true }, body, {});
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.details;
    throw error;
  }
}

test.each([
  [{ lists: [[], [], []] }, { '/lists': 'has 3 elements; at most 2 are allowed' }],
  [{ lists: [['a'], ['a', 'b', 'c', 'd']] }, { '/lists/1': 'has 4 elements; at most 3 are allowed' }],
  [{ maps: { a: 'a', b: 'b', c: 'c' } }, { '/maps': 'has 3 members; at most 2 are allowed' }],
])('no element of %j is looked at', (body, details) => {
  looks = 0;
  expect(refusal(body)).toEqual(details);
  expect(looks).toBe(0);
});

test('as many as are allowed are looked at', () => {
  looks = 0;
  expect(refusal({ lists: [['a'], ['a', 'b', 'c']], maps: { a: 'a', b: 'b' } })).toBeUndefined();
  expect(looks).toBe(6);
});

test.each<[string, z.ZodType]>([
  ['list', z.object({ a: z.array(z.string()) })],
  ['list inside', z.object({ a: z.array(z.object({ b: z.array(z.string()).nullable() })).max(3) })],
  ['map', z.object({ a: z.record(z.string(), z.string()).optional() })],
])('an operation that takes a %s without a largest size does not start', (_, schema) => {
  expect(() => sizeOf(schema, NOTHING_READ_ONLY)).toThrow(/without a largest/);
});

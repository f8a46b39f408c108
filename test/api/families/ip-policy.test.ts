import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const list = z.object({ ip_policies: z.array(ipPolicy.view), uri: z.string(), next_page_uri: z.string().nullable() });

const create = async (body: object = {}) => (await admin.post('/ip_policies', body)).as(ipPolicy.view);

describe('an IP policy', () => {
  test('is created with what was sent, an id with its prefix, an address and a time', async () => {
    const before = Date.now();
    const reply = await admin.post('/ip_policies', { description: 'office', metadata: '{"a":1}' });
    expect(reply.status).toBe(201);
    const policy = reply.as(ipPolicy.view);
    expect(policy).toMatchObject({ description: 'office', metadata: '{"a":1}' });
    expect(policy.id).toMatch(/^ipp_[0-9a-z]{26}$/);
    expect(policy.uri).toBe(`${BASE}/ip_policies/${policy.id}`);
    expect(reply.headers.location).toBe(policy.uri);
    expect(policy.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(policy.created_at)).toBeGreaterThanOrEqual(before);
    expect((await admin.get(`/ip_policies/${policy.id}`)).as(ipPolicy.view)).toEqual(policy);
  });

  test.each([
    ['an empty object', {}],
    ['no body', undefined],
    ['null members', { description: null, metadata: null }],
  ])('needs nothing: it can be created with %s', async (_, body) => {
    const reply = await admin.post('/ip_policies', body);
    expect(reply.as(ipPolicy.view)).toMatchObject({ description: null, metadata: null });
  });

  test('shows an empty description as empty, not as null', async () => {
    expect(await create({ description: '' })).toMatchObject({ description: '' });
  });

  test('is listed newest first, in an envelope with its address and no next page', async () => {
    const [first, second] = [await create(), await create()];
    const reply = (await admin.get('/ip_policies')).as(list);
    expect(reply.uri).toBe(`${BASE}/ip_policies`);
    expect(reply.next_page_uri).toBeNull();
    expect(reply.ip_policies.slice(0, 2)).toEqual([second, first]);
  });

  test('changes only in the fields that a PATCH carries', async () => {
    const policy = await create({ description: 'a', metadata: 'm' });
    const reply = await admin.patch(`/ip_policies/${policy.id}`, { description: 'b' });
    expect(reply.status).toBe(200);
    expect(reply.as(ipPolicy.view)).toEqual({ ...policy, description: 'b' });
    expect((await admin.get(`/ip_policies/${policy.id}`)).as(ipPolicy.view)).toEqual({ ...policy, description: 'b' });
  });

  test('loses a field that a PATCH sets to null', async () => {
    const policy = await create({ description: 'a', metadata: 'm' });
    const reply = await admin.patch(`/ip_policies/${policy.id}`, { metadata: null });
    expect(reply.as(ipPolicy.view)).toEqual({ ...policy, metadata: null });
  });

  test('is left as it is by a PATCH of nothing', async () => {
    const policy = await create({ description: 'a' });
    expect((await admin.patch(`/ip_policies/${policy.id}`, {})).as(ipPolicy.view)).toEqual(policy);
    expect((await admin.patch(`/ip_policies/${policy.id}`)).as(ipPolicy.view)).toEqual(policy);
  });

  test('is gone after DELETE, which answers nothing', async () => {
    const { id } = await create();
    const reply = await admin.delete(`/ip_policies/${id}`);
    expect(reply).toMatchObject({ status: 204, text: '' });
    for (const again of [
      admin.get(`/ip_policies/${id}`),
      admin.patch(`/ip_policies/${id}`, {}),
      admin.delete(`/ip_policies/${id}`),
    ]) {
      expect((await again).error).toMatchObject({ error_code: 'NOT_FOUND', details: { id } });
    }
  });

  test('may be managed by every caller', async () => {
    for (const caller of [await api.newUser(), await api.newBot()]) {
      const { id } = (await caller.post('/ip_policies', {})).as(ipPolicy.view);
      expect((await caller.patch(`/ip_policies/${id}`, { description: 'x' })).status).toBe(200);
      expect((await caller.delete(`/ip_policies/${id}`)).status).toBe(204);
    }
  });
});

describe('the limits of an IP policy, in bytes', () => {
  const euro = '€'; // three bytes
  test.each([
    ['description', 255],
    ['metadata', 4096],
  ])('%s takes %i bytes, and no byte more', async (field, max) => {
    const whole = euro.repeat(Math.floor(max / 3));
    const full = whole + 'x'.repeat(max - Buffer.byteLength(whole));
    expect(Buffer.byteLength(full)).toBe(max);
    expect(await create({ [field]: full })).toMatchObject({ [field]: full });

    const over = 'x'.repeat(max - 2) + euro;
    expect([...over].length).toBeLessThan(max);
    const { error } = await admin.post('/ip_policies', { [field]: over });
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details[`/${field}`]).toBe(`must be at most ${max} bytes of UTF-8, but is ${max + 1}`);

    const { id } = await create();
    expect((await admin.patch(`/ip_policies/${id}`, { [field]: over })).status).toBe(400);
  });

  test.each([
    ['a NUL character', 'a\u0000b', /NUL/],
    ['a lone surrogate', 'a\ud800b', /surrogate/],
    ['a number', 7, /must be a string, not a number/],
  ])('%s is refused', async (_, value, reason) => {
    const { error } = await admin.post('/ip_policies', { description: value });
    expect(error.details['/description']).toMatch(reason);
  });
});

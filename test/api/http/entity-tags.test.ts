import { describe, expect, test } from 'vitest';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

async function create() {
  const reply = await admin.post('/ip_policies', { description: 'a' });
  return { path: `/ip_policies/${reply.as(ipPolicy.view).id}`, etag: reply.headers.etag ?? '' };
}

const NO_TAGS = 'must be "*" or entity tags in double quotes, as in the ETag header';

describe('the ETag of a resource', () => {
  test('is strong, the same in every answer, and changes with the resource', async () => {
    const { path, etag } = await create();
    expect(etag).toMatch(/^"[^"]+"$/);
    expect((await admin.get(path)).headers.etag).toBe(etag);
    const changed = (await admin.patch(path, { description: 'b' })).headers.etag;
    expect(changed).not.toBe(etag);
    expect((await admin.get(path)).headers.etag).toBe(changed);
  });

  test('stays when a PATCH changes nothing', async () => {
    const { path, etag } = await create();
    expect((await admin.patch(path, { description: 'a' })).headers.etag).toBe(etag);
    expect((await admin.get(path)).headers.etag).toBe(etag);
  });
});

describe('If-Match', () => {
  test.each(['PATCH', 'DELETE'] as const)('lets a %s through only at that revision', async (method) => {
    const { path, etag } = await create();
    const body = method === 'PATCH' ? { body: { description: 'b' } } : {};
    await admin.patch(path, { description: 'someone else' });
    const stale = await admin.send(method, path, { ...body, headers: { 'if-match': etag } });
    expect(stale.error.error_code).toBe('PRECONDITION_FAILED');
    const current = stale.error.details.etag ?? '';
    expect((await admin.get(path)).headers.etag).toBe(current);
    expect((await admin.send(method, path, { ...body, headers: { 'if-match': current } })).status).toBeLessThan(300);
  });

  test('is checked under the lock, so that a change committed meanwhile counts', async () => {
    const { path, etag } = await create();
    const held = await heldTransaction(api.databaseUrl);
    const id = path.split('/').at(-1);
    await held.query('update ip_policies set description = $2, revision = revision + 1 where id = $1', [id, 'first']);
    const patch = admin.patch(path, { description: 'second' }, { 'if-match': etag });
    await untilWaiting(api, 1);
    await held.commit();
    expect((await patch).status).toBe(412);
  });
});

describe('If-None-Match', () => {
  test('answers 304 without a body while nothing has changed', async () => {
    const { path, etag } = await create();
    for (const header of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const reply = await admin.get(path, { 'if-none-match': header });
      expect(reply).toMatchObject({ status: 304, text: '', headers: { etag } });
    }
    await admin.patch(path, { description: 'b' });
    expect((await admin.get(path, { 'if-none-match': etag })).status).toBe(200);
    const refused = await admin.get(path, { 'if-none-match': 'no tag' });
    expect(refused.error.details['If-None-Match']).toBe(NO_TAGS);
  });
});

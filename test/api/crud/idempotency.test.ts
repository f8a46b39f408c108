import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CALLER } from '../../../dev/fixtures/caller.ts';
import { attempt, claim } from '../../../src/api/crud/idempotency.ts';
import { authentication, credential } from '../../../src/resources/credential.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { startTestApi } from '../harness.ts';
import { newKey, under } from './idempotency-keys.ts';

const api = await startTestApi({ poolSize: 60 });
const { admin } = api;

const count = async (table: string) => Number((await api.rows(`select count(*) as n from ${table}`))[0]?.n);

describe('the fingerprint of a request', () => {
  const request = { caller: CALLER, idempotencyPlace: undefined, method: 'POST' };
  const of = (sent: unknown, path = '/things') => attempt('a key', { ...request, path, sent }).fingerprint;

  test('is the same for equal bodies, regardless of the order of their members', () => {
    const body = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ stringUnit: 'grapheme' }));
    fc.assert(
      fc.property(body, (value) => {
        expect(of(Object.fromEntries(Object.entries(value).reverse()))).toBe(of(value));
        expect(of(JSON.parse(JSON.stringify(value)))).toBe(of(value));
      }),
    );
  });

  test.each([
    ['another member', { a: 1 }, { b: 1 }],
    ['another value', { a: 1 }, { a: 2 }],
    ['a string in place of a number', { a: 1 }, { a: '1' }],
    ['null in place of an absent member', {}, { a: null }],
    ['another order of a list', { a: [1, 2] }, { a: [2, 1] }],
  ])('differs for %s', (_, one, other) => {
    expect(of(one)).not.toBe(of(other));
  });

  test('without a body is that of an empty object, and depends on the path', () => {
    expect(of(undefined)).toBe(of({}));
    expect(of({}, '/others')).not.toBe(of({}));
  });
});

describe('a create under an idempotency key', () => {
  test('is done once for concurrent requests, which all receive the id and the token', async () => {
    const before = await count('credentials');
    const key = newKey();
    const calls = Array.from({ length: 50 }, () => admin.post('/credentials', { description: 'one' }, under(key)));
    const replies = await Promise.all(calls);
    expect(replies.map(({ status }) => status)).toEqual(Array(50).fill(201));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(replies.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
    expect(await count('credentials')).toBe(before + 1);
    const { token, id } = replies[0]?.as(credential.view) ?? {};
    const answer = (await admin.post('/credentials/authenticate', { token })).as(authentication);
    expect(answer).toMatchObject({ allowed: true, credential_id: id });
  });

  test('is done once by two processes on one database', async () => {
    const other = await startTestApi({ databaseUrl: api.databaseUrl, poolSize: 20 });
    const key = newKey();
    const calls = Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? admin : other.admin).post('/credentials', {}, under(key)),
    );
    expect(new Set((await Promise.all(calls)).map(({ text }) => text)).size).toBe(1);
  });

  test('may create a new resource if the first is deleted between two reads of the record', async () => {
    const key = newKey();
    const { id } = (await admin.post('/ip_policies', {}, under(key))).as(ipPolicy.view);
    const caller = { ...CALLER, id: admin.id, principal: admin.id };
    const tried = attempt(key, { caller, idempotencyPlace: undefined, method: 'POST', path: '/others', sent: {} });
    let isThere = true;
    const replay = await api.db.transaction((tx) => {
      const query: typeof tx.query = async (statement) => {
        if (isThere && statement.name === 'key.read') {
          isThere = false;
          await admin.delete(`/ip_policies/${id}`);
        }
        return tx.query(statement);
      };
      return claim({ query }, tried);
    });
    expect(replay).toBeUndefined();
    expect(await api.rows('select resource_id from idempotency_keys where digest = $1', [tried.digest])).toEqual([
      { resource_id: null },
    ]);
    await api.rows('delete from idempotency_keys where digest = $1', [tried.digest]);
  });

  test.each(['', ' ', 'x'.repeat(256), 'ü', 'a b', 'tab\there'])('is refused under the key "%s"', async (key) => {
    const { error } = await admin.post('/ip_policies', {}, under(key));
    expect(error.details['Idempotency-Key']).toBe('must be 1 to 255 printable ASCII characters');
  });
});

describe('an idempotency key', () => {
  test('shows the token for 24 hours', async () => {
    const key = newKey();
    const made = (await admin.post('/credentials', {}, under(key))).as(credential.view);
    const age = (interval: string) =>
      api.rows(`update idempotency_keys set created_at = now() - interval '${interval}' where resource_id = $1`, [
        made.id,
      ]);
    await age('23 hours 59 minutes');
    expect((await admin.post('/credentials', {}, under(key))).as(credential.view)).toEqual(made);
    await age('24 hours 1 minute');
    expect((await admin.post('/credentials', {}, under(key))).as(credential.view)).toEqual({ ...made, token: null });
  });
});

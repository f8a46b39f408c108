/** What a family does of its own, without a database. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createFamily, initialFields } from '../../../src/api/crud/family.ts';
import { apiKey } from '../../../src/resources/api-key.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';

const NO_DATABASE = {
  query: () => Promise.reject(new Error('asked the database')),
};

test('what belongs to deleted resources is deleted one after the other, and a failure ends it', async () => {
  const family = createFamily(ipPolicy, {});
  const done: string[] = [];
  const removal = (name: string) => async (_: unknown, ids: readonly string[]) => {
    await turn();
    done.push(`${name} ${ids.join()}`);
  };
  family.onRemoval(removal('first'));
  family.onRemoval(removal('second'));
  await family.detach(NO_DATABASE, ['a', 'b']);
  expect(done).toEqual(['first a,b', 'second a,b']);

  family.onRemoval(async () => {
    await turn();
    throw new Error('third');
  });
  family.onRemoval(removal('fourth'));
  await expect(family.detach(NO_DATABASE, ['c'])).rejects.toThrow('third');
  expect(done).toEqual(['first a,b', 'second a,b', 'first c', 'second c']);
});

test('references are deleted of those that refer, and only of those', async () => {
  await createFamily(ipPolicy, {}).detach(NO_DATABASE, ['a']);
  const referring = createFamily(ipPolicy, { refers: true }).detach(NO_DATABASE, ['a']);
  await expect(referring).rejects.toThrow('asked the database');
});

test('a caller sees their own, an admin everything, and where families have no owners, everybody does', () => {
  const call = (admin: boolean) => ({ caller: { id: 'usr_1', admin, keyId: 'ak_1', secret: 's' }, params: {} });
  const keys = createFamily(apiKey, {});
  expect(keys.scope(call(false))).toEqual({ owner_id: 'usr_1' });
  expect(keys.scope(call(true))).toEqual({});
  expect(createFamily(ipPolicy, {}).scope(call(false))).toEqual({});
  const row = { id: 'ak_2', created_at: '', revision: 1, owner_id: 'usr_2' };
  expect(keys.require(row, 'ak_2', call(true))).toBe(row);
  for (const hidden of [row, undefined]) {
    expect(() => keys.require(hidden, 'ak_2', call(false))).toThrow(
      expect.objectContaining({
        code: 'NOT_FOUND',
        message: 'The API key ak_2 does not exist.',
        details: { id: 'ak_2' },
      }),
    );
  }
});

test('fields that are left out have their initial values', () => {
  expect(initialFields(ipPolicy.fields)).toEqual({ description: null, metadata: null });
});

test('only the creation response shows a token', () => {
  expect([createFamily(apiKey, {}).shownOnce, createFamily(ipPolicy, {}).shownOnce]).toEqual(['token', undefined]);
});

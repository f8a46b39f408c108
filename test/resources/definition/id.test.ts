import { TypeID } from 'typeid-js';
import { expect, test } from 'vitest';
import { firstIdAt, idOf, newId } from '../../../src/resources/definition/id.ts';

test.each([
  '1970-01-01T00:00:00.001Z',
  '2001-09-09T01:46:40.123Z',
  '2026-11-22T07:00:00.999Z',
  '9999-12-31T23:59:59.999Z',
])('the first id of %s is a UUIDv7 of that millisecond, without random bits', (at) => {
  const id = firstIdAt('ev', new Date(at));
  expect(idOf('ev').parse(id)).toBe(id);
  const uuid = TypeID.fromString(id).toUUID();
  expect(uuid.slice(13)).toBe('-7000-8000-000000000000');
  expect(Number.parseInt(uuid.slice(0, 13).replace('-', ''), 16)).toBe(Date.parse(at));
});

test('the first id of a moment sorts between the ids made before and those made from then on', () => {
  const before = newId('ev');
  const start = Date.now();
  while (Date.now() === start);
  const first = firstIdAt('ev', new Date());
  const after = newId('ev');
  expect([after, first, before].sort()).toEqual([before, first, after]);
});

test('an id must have one of the given prefixes, and otherwise the reason names them', () => {
  expect(idOf('a', 'b').parse(newId('b'))).toMatch(/^b_/);
  expect(idOf('a', 'b').safeParse(newId('c')).error?.issues[0]?.message).toBe(
    'must be an id that starts with a_ or b_ followed by 26 characters',
  );
});

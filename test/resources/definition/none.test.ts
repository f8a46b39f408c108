import { expect, test } from 'vitest';
import { z } from 'zod';
import { orNone } from '../../../src/resources/definition/none.ts';

test.each([
  ['null', null, null],
  ['""', '', null],
  ['a value', 'eu', 'eu'],
])('null and "" are read as none, a value as itself: %s', (_, sent, read) => {
  expect(orNone(z.enum(['eu'])).parse(sent)).toBe(read);
});

test('anything else is refused', () => {
  for (const sent of [' ', 'mars', 0, false]) expect(orNone(z.enum(['eu'])).safeParse(sent).success).toBe(false);
});

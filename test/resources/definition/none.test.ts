import { expect, test } from 'vitest';
import { z } from 'zod';
import { orNone } from '../../../src/resources/definition/none.ts';

test.each([
  ['null', null, null],
  ['""', '', null],
  ['a value', 'eu', 'eu'],
])('%s is read as such', (_, sent, read) => {
  expect(orNone(z.enum(['eu'])).parse(sent)).toBe(read);
});

test('what is neither is refused', () => {
  for (const sent of [' ', 'mars', 0, false]) expect(orNone(z.enum(['eu'])).safeParse(sent).success).toBe(false);
});

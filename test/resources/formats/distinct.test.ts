import { expect, test } from 'vitest';
import { z } from 'zod';
import { distinct } from '../../../src/resources/formats/distinct.ts';

test('each repetition is reported at its index, with the index of the first occurrence', () => {
  const { error } = distinct(z.array(z.string())).safeParse(['a', 'b', 'a', 'a', 'b']);
  expect(error?.issues.map(({ path, message, input }) => [path, message, input])).toEqual([
    [[2], 'is already at index 0', undefined],
    [[3], 'is already at index 0', undefined],
    [[4], 'is already at index 1', undefined],
  ]);
});

test.each([[[]], [['a']], [['a', 'b', '']]])('without a repetition, %o is accepted', (members) => {
  expect(distinct(z.array(z.string())).parse(members)).toEqual(members);
});

import { expect, test } from 'vitest';
import { BATCH, inBatches } from '../../../src/api/crud/batches.ts';

test.each([
  ['none', [0], 1],
  ['fewer than a statement takes', [BATCH - 1], 1],
  ['as many as it takes', [BATCH, 0], 2],
  ['more', [BATCH, BATCH, 1], 3],
])('a statement is repeated for as long as it finds as much as it takes: %s', async (_, counts, times) => {
  const left = [...counts, BATCH, 0];
  const asked: unknown[] = [];
  const query = async (statement: { text: string; values: unknown[] }) => {
    asked.push(statement);
    return Array.from({ length: left.shift() ?? 0 }, () => ({}));
  };
  await inBatches({ query }, 'delete from things', ['x']);
  expect(asked).toEqual(Array.from({ length: times }, () => ({ text: 'delete from things', values: ['x'] })));
});

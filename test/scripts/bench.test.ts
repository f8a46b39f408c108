import { expect, test } from 'vitest';
import { PARTS } from '../../bench/parts.ts';

test('the bench measures the API and the operator', () => {
  expect(Object.keys(PARTS)).toEqual(['api', 'operator']);
});

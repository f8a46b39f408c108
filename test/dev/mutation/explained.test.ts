import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXPLAINED, explanations } from '../../../dev/mutation/explained.ts';
import { mutationsOf } from '../../../dev/mutation/mutators.ts';

const ROOT = join(import.meta.dirname, '../../..');

test('a mutation is explained by its text, or by a pattern that it fits', () => {
  const { reason, stale } = explanations({
    'src/a.ts': { 'f(a + b); → f(a - b);': 'exactly', 'g(*) → *': 'by pattern', 'h() → ;': 'gone' },
  });
  expect(reason('src/a.ts', 'f(a + b); → f(a - b);')).toBe('exactly');
  expect(reason('src/a.ts', 'f(a + b)! → f(a - b);')).toBeUndefined();
  expect(reason('src/a.ts', 'g(1) → g(2)')).toBe('by pattern');
  expect(reason('src/b.ts', 'g(1) → g(2)')).toBeUndefined();
  expect(stale('src/a.ts')).toEqual(['src/a.ts: h() → ;']);
});

test.each(Object.keys(EXPLAINED))('every explanation for %s still has its mutation', (file) => {
  const { reason, stale } = explanations();
  for (const { text } of mutationsOf(readFileSync(join(ROOT, file), 'utf8'))) reason(file, text);
  expect(stale(file)).toEqual([]);
});

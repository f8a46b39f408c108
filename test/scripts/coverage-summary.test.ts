import { expect, test } from 'vitest';
import { coverageTable } from '../../scripts/coverage-summary.ts';

const of = (total: number, covered: number) => ({
  lines: { total, covered },
  branches: { total: total / 10, covered: 0 },
});

test('files are summed up by folder, three levels deep at most', () => {
  const files = new Map([
    ['src/main.ts', of(10, 0)],
    ['src/api/app.ts', of(20, 10)],
    ['src/api/store/a.ts', of(30, 30)],
    ['src/api/store/deeper/b.ts', of(30, 0)],
  ]);
  expect(coverageTable(files, of(90, 40))).toEqual([
    'folder           lines  branches',
    'src              0.0 %     0.0 %',
    'src/api         50.0 %     0.0 %',
    'src/api/store   50.0 %     0.0 %',
    'all             44.4 %     0.0 %',
  ]);
});

test('nothing to cover is no percentage', () => {
  expect(coverageTable(new Map(), of(0, 0)).at(-1)).toMatch(/^all +– +–$/);
});

/** What the list of files knows of which every mutation is noticed. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openNoticed } from '../../../dev/mutation/noticed.ts';

const folder = mkdtempSync(join(tmpdir(), 'noticed-'));
const path = join(folder, 'noticed.json');
afterAll(() => rmSync(folder, { recursive: true }));

test('a file is known until it changes, in every later run', () => {
  const list = openNoticed(path, () => true);
  expect(list.has('src/b.ts', 'const b = 1;')).toBe(false);
  list.add('src/b.ts', 'const b = 1;');
  list.add('src/a.ts', 'const a = 1;');
  const later = openNoticed(path, () => true);
  expect(later.has('src/b.ts', 'const b = 1;')).toBe(true);
  expect(later.has('src/b.ts', 'const b = 2;')).toBe(false);
  expect(later.has('src/a.ts', 'const b = 1;')).toBe(false);
});

test('the list is in the order of the names, without files that are gone', () => {
  openNoticed(path, (file) => file !== 'src/b.ts').add('src/0.ts', '');
  expect(Object.keys(JSON.parse(readFileSync(path, 'utf8')))).toEqual(['src/0.ts', 'src/a.ts']);
});

/** No family with something of its own is served without it. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../../src/api/families');

test('every family that is mounted in a file of its own is on the list in all.ts', async () => {
  const all = await readFile(join(FOLDER, 'all.ts'), 'utf8');
  const names = (await readdir(FOLDER)).filter((name) => name !== 'all.ts');
  const texts = await Promise.all(names.map((name) => readFile(join(FOLDER, name), 'utf8')));
  const mounted = texts.flatMap((text) =>
    [...text.matchAll(/^export const (\w+) = mount\(/gm)].map(([, name]) => name),
  );
  expect(mounted.length).toBeGreaterThan(10);
  const listed = /^const SPECIAL = \[([^\]]*)\]/m.exec(all)?.[1] ?? '';
  expect(mounted.filter((name) => !listed.split(/[\s,]+/).includes(name ?? ''))).toEqual([]);
});

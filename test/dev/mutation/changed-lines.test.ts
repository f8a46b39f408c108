/** Which lines of a file have changed since its mutations were noticed. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { changedSince, changedSpans } from '../../../dev/mutation/changed-lines.ts';

const root = mkdtempSync(join(tmpdir(), 'changed-lines-'));
afterAll(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string) => writeFileSync(join(root, name), text);

function git(...args: string[]): void {
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  const { status, stderr } = spawnSync('git', [...author, ...args], { cwd: root, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
}

test('a hunk is the lines that are new; of lines taken away, both neighbours', () => {
  expect(changedSpans('@@ -1 +1 @@\n-a\n+b\n@@ -5,2 +6,3 @@ function\n@@ -20,4 +22,0 @@\n')).toEqual([
    { first: 1, last: 1 },
    { first: 6, last: 8 },
    { first: 22, last: 23 },
  ]);
});

test('what has changed since the entry came into the list, in commits and beside them', () => {
  git('init', '--quiet');
  write('a.ts', 'one\ntwo\nthree\nfour\n');
  write('list.json', '"a.ts": "11"\n');
  git('add', '.');
  git('commit', '--quiet', '-m', 'first');
  expect(changedSince(root, 'list.json', 'a.ts', '"a.ts": "11"')).toEqual([]);
  write('a.ts', 'ONE\ntwo\nthree\nfour\n');
  write('b.ts', 'new\n');
  git('add', '.');
  git('commit', '--quiet', '-m', 'second');
  write('a.ts', 'ONE\ntwo\nthree\nFOUR\n');
  const both = [1, 4].map((line) => ({ first: line, last: line }));
  expect(changedSince(root, 'list.json', 'a.ts', '"a.ts": "11"')).toEqual(both);
  expect(changedSince(root, 'list.json', 'a.ts', '"a.ts": "22"')).toBeUndefined();
  expect(changedSince(root, 'list.json', 'b.ts', '"a.ts": "11"')).toBeUndefined();
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { changedSince } from '../../../dev/mutation/changed-lines.ts';

const root = mkdtempSync(join(tmpdir(), 'changed-lines-'));
afterAll(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string) => writeFileSync(join(root, 'src', name), text);

function git(...args: string[]): void {
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  const { status, stderr } = spawnSync('git', [...author, ...args], { cwd: root, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
}

function commit(message: string): void {
  git('add', '.');
  git('commit', '--quiet', '-m', message);
}

const line = (number: number) => ({ first: number, last: number });

test('lines that a branch, the newest commit, or nobody has committed yet', () => {
  git('init', '--quiet', '-b', 'main');
  mkdirSync(join(root, 'src'));
  write('a.ts', 'one\ntwo\nthree\nfour\n');
  commit('first');
  write('a.ts', 'ONE\ntwo\nthree\nfour\n');
  commit('second');
  expect(changedSince(root)).toEqual(new Map([['src/a.ts', [line(1)]]]));
  git('checkout', '--quiet', '-b', 'topic');
  write('a.ts', 'ONE\ntwo\nTHREE\nfour\n');
  commit('third');
  write('b.ts', 'new');
  const onTopic: [string, unknown[]][] = [
    ['src/a.ts', [line(3)]],
    ['src/b.ts', [line(1)]],
  ];
  expect(changedSince(root)).toEqual(new Map(onTopic));
  // A line that is gone changes its two neighbours.
  write('a.ts', 'ONE\ntwo\nTHREE\n');
  expect(changedSince(root, 'HEAD').get('src/a.ts')).toEqual([{ first: 3, last: 4 }]);
});

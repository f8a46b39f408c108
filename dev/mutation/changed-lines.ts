/** Which lines of the source have changed since a commit, including the working tree. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A range of lines, counted from 1. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

const FILE = /^\+\+\+ b\/(.+)$/gm;
const HUNK = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@/gm;

/** The lines that a diff without context (`-U0`) adds, by file. For a pure removal, the two lines around the gap. */
function changedSpans(diff: string): Map<string, Span[]> {
  const starts = [...diff.matchAll(FILE)];
  return new Map(
    starts.map(({ 1: file = '', index }, at) => {
      const hunks = diff.slice(index, starts[at + 1]?.index).matchAll(HUNK);
      const spans = [...hunks].map(([, start, count = '1']) => {
        const first = Number(start);
        return { first, last: count === '0' ? first + 1 : first + Number(count) - 1 };
      });
      return [file, spans];
    }),
  );
}

/** Since the branch left `main`, or else since the commit before the newest. */
export function changedSince(root: string): Map<string, Span[]> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
  const head = git('rev-parse', 'HEAD').trim();
  const fork = () => git('merge-base', 'HEAD', 'main').trim();
  const from = git('branch', '--list', 'main') === '' || fork() === head ? 'HEAD~' : fork();
  const changed = changedSpans(git('diff', '-U0', '--no-color', '--no-ext-diff', from, '--', 'src'));
  const untracked = git('ls-files', '--others', '--exclude-standard', '--', 'src').split('\n').filter(Boolean);
  const linesOf = (file: string) => readFileSync(join(root, file), 'utf8').split('\n').length;
  for (const file of untracked) changed.set(file, [{ first: 1, last: linesOf(file) }]);
  return changed;
}

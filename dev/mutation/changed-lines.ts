/** Which lines of a file have changed since all its mutations were noticed: those before are not tried again. */
import { spawnSync } from 'node:child_process';

/** Of lines, counted from 1. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

const HUNK = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@/gm;

/** Where a diff without context (`-U0`) has something new; both neighbours of what it only takes away. */
export function changedSpans(diff: string): Span[] {
  return [...diff.matchAll(HUNK)].map(([, start, count = '1']) => {
    const first = Number(start);
    return count === '0' ? { first, last: first + 1 } : { first, last: first + Number(count) - 1 };
  });
}

/**
 * Since the commit in which this entry came into the list.
 * @param entry as it is written in the list, as in `"src/a.ts": "0123456789abcdef"`
 * @returns undefined if there is no such commit, or the file was not there
 */
export function changedSince(root: string, list: string, file: string, entry: string): Span[] | undefined {
  const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  const commit = git('log', '-1', '--format=%H', '-S', entry, '--', list).stdout.trim();
  if (commit === '' || git('cat-file', '-e', `${commit}:${file}`).status !== 0) return undefined;
  const { status, stdout } = git('diff', '-U0', '--no-color', '--no-ext-diff', commit, '--', file);
  return status === 0 ? changedSpans(stdout) : undefined;
}

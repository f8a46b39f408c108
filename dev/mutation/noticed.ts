/**
 * The files of which every mutation is noticed or explained, with a digest of what that was found of. The list is
 * checked in: all of them take a night, and what one machine has tried, another need not try before the file changes.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { EXPLAINED } from './explained.ts';

const List = z.record(z.string(), z.string());

export interface Noticed {
  /** Whether all is known of the file, which neither has changed since nor has lost an explanation. */
  has(file: string, source: string): boolean;
  /** As the list has it, if it has the file: of the source as it is now or as it was. */
  entry(file: string): string | undefined;
  add(file: string, source: string): void;
}

/** @param isThere whether the file is still part of the source; what is not leaves the list at the next change. */
export function openNoticed(path: string, isThere: (file: string) => boolean): Noticed {
  const digests = new Map(Object.entries(existsSync(path) ? List.parse(JSON.parse(readFileSync(path, 'utf8'))) : {}));
  return {
    has: (file, source) => digests.get(file) === digestOf(file, source),
    entry: (file) => (digests.has(file) ? `"${file}": "${digests.get(file)}"` : undefined),
    add(file, source) {
      digests.set(file, digestOf(file, source));
      const kept = [...digests].filter(([each]) => isThere(each)).sort(([a], [b]) => (a < b ? -1 : 1));
      writeFileSync(path, `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`);
    },
  };
}

function digestOf(file: string, source: string): string {
  const explained = Object.keys(EXPLAINED[file] ?? {});
  return createHash('sha256')
    .update(JSON.stringify([source, explained]))
    .digest('hex')
    .slice(0, 16);
}

/** Mutations that no test notices, and why that is right. Whatever is listed is not tried. */
import { API } from './explained/api.ts';
import { COMMON } from './explained/common.ts';
import type { Explained } from './explained/entries.ts';
import { OPERATOR } from './explained/operator.ts';

export const EXPLAINED: Explained = { ...API, ...COMMON, ...OPERATOR };

export interface Explanations {
  /** The reason why no test notices this mutation. */
  reason(file: string, mutation: string): string | undefined;
  /** Entries for the file that fit none of the mutations that were asked for. */
  stale(file: string): string[];
}

export function explanations(explained = EXPLAINED): Explanations {
  const used = new Set<string>();
  const entries = (file: string) => Object.entries(explained[file] ?? {});
  return {
    reason(file, mutation) {
      const fitting = entries(file).filter(([pattern]) => fits(pattern, mutation));
      for (const [pattern] of fitting) used.add(`${file}: ${pattern}`);
      return fitting[0]?.[1];
    },
    stale: (file) =>
      entries(file)
        .map(([pattern]) => `${file}: ${pattern}`)
        .filter((entry) => !used.has(entry)),
  };
}

function fits(pattern: string, mutation: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(mutation);
}

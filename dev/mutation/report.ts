/** What became of each mutant, in a file of JSON lines that the next run resumes from. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Mutant } from './mutant.ts';
import { REACHES } from './reach.ts';

const OUTCOMES = ['killed', 'timed out', 'rejected by types', 'rejected by lint', 'survived', 'untested'] as const;
/** `untested`: no test reaches the file, within the reach. */
export type Outcome = (typeof OUTCOMES)[number];

const Result = z.object({
  file: z.string(),
  digest: z.string(),
  text: z.string(),
  occurrence: z.number(),
  line: z.number(),
  outcome: z.enum(OUTCOMES),
  /** The test that failed. */
  by: z.string().optional(),
  reach: z.enum(REACHES),
  ms: z.number(),
});
export type Result = z.output<typeof Result>;
type Key = Pick<Mutant, 'file' | 'digest' | 'text' | 'occurrence'>;

export interface Report {
  /** The newest result of the mutant, if its file has not changed since. */
  find(mutant: Key): Result | undefined;
  add(mutant: Mutant, found: Pick<Result, 'outcome' | 'by' | 'reach' | 'ms'>): void;
}

export function openReport(path: string): Report {
  mkdirSync(dirname(path), { recursive: true });
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  const results = new Map(lines.map((line) => Result.parse(JSON.parse(line))).map((result) => [name(result), result]));
  return {
    find: (mutant) => results.get(name(mutant)),
    add({ file, digest, text, occurrence, line }, found) {
      const result = { file, digest, text, occurrence, line, ...found };
      results.set(name(result), result);
      appendFileSync(path, `${JSON.stringify(result)}\n`);
    },
  };
}

/** A mutant that was noticed stays noticed; one that was not is tried again, since tests may have been added. */
export function isDead(outcome: Outcome): boolean {
  return outcome !== 'survived' && outcome !== 'untested';
}

/** How many of each, in words. */
export function figures(outcomes: readonly Outcome[]): string {
  return OUTCOMES.map((outcome) => `${outcomes.filter((other) => other === outcome).length} ${outcome}`).join(', ');
}

function name({ file, digest, text, occurrence }: Key): string {
  return JSON.stringify([file, digest, text, occurrence]);
}

/** One mutation of one file, and how to name it in the report. */
import { createHash } from 'node:crypto';
import { type Mutation, mutate, mutationsOf } from './mutators.ts';

export interface Mutant extends Mutation {
  readonly file: string;
  readonly source: string;
  /** Of the source: what is known about the mutant holds until it changes. */
  readonly digest: string;
  /** Of the same text in the file: 0 for the first. */
  readonly occurrence: number;
}

export function mutantsOf(file: string, source: string): Mutant[] {
  const digest = createHash('sha256').update(source).digest('hex').slice(0, 16);
  const seen = new Map<string, number>();
  return mutationsOf(source).map((mutation) => {
    const occurrence = seen.get(mutation.text) ?? 0;
    seen.set(mutation.text, occurrence + 1);
    return { ...mutation, file, source, digest, occurrence };
  });
}

export function mutantSource(mutant: Mutant): string {
  return mutate(mutant.source, mutant);
}

/**
 * Mutants for a checker that reads the whole source at once. Each becomes a file of its own beside the original, and so
 * does the original itself, since a copy may have errors that are not the mutant's.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Mutant, mutantSource } from './mutant.ts';
import type { Sandbox } from './sandbox.ts';

/** Errors by the path of the copy, relative to the root of the sandbox. */
export type Errors = ReadonlyMap<string, ReadonlySet<string>>;

/** @returns the mutants that have errors which their originals have not */
export function rejected(
  sandbox: Pick<Sandbox, 'root' | 'write'>,
  mutants: readonly Mutant[],
  check: () => Errors,
): Set<Mutant> {
  if (mutants.length === 0) return new Set();
  const copyOf = (file: string, name: string | number) => file.replace(/\.ts$/, `.mutant-${name}.ts`);
  const copies = new Map(mutants.map((mutant, index) => [copyOf(mutant.file, index), mutant]));
  const originals = new Map(mutants.map(({ file, source }) => [copyOf(file, 'none'), source]));
  for (const [copy, mutant] of copies) sandbox.write(copy, mutantSource(mutant));
  for (const [copy, source] of originals) sandbox.write(copy, source);
  const errors = check();
  for (const path of [...copies.keys(), ...originals.keys()]) rmSync(join(sandbox.root, path));
  const none = new Set<string>();
  const isRejected = ([copy, { file }]: readonly [string, Mutant]) =>
    !(errors.get(copy) ?? none).isSubsetOf(errors.get(copyOf(file, 'none')) ?? none);
  return new Set([...copies].filter(isRejected).map(([, mutant]) => mutant));
}

/** @param found of each error the path, and what it is, without where in the file */
export function byPath(found: Iterable<readonly [path: string, error: string]>): Errors {
  const errors = new Map<string, Set<string>>();
  for (const [path, error] of found) errors.set(path, (errors.get(path) ?? new Set()).add(error));
  return errors;
}

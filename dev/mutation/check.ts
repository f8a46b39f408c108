/**
 * Finds the mutants that the type check or the type-aware lint rejects: they could not be committed, so no test has to
 * notice them. Each mutant is written to a file beside the original, so that one run checks all. An unchanged copy is
 * checked too, since a copy may have errors that are not the mutant's.
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Mutant, mutate } from './mutators.ts';
import type { Sandbox } from './sandbox.ts';

type Place = Pick<Sandbox, 'root' | 'write'>;

/** The path of the file (relative to the root) and the message of each error, without its position. */
type Errors = readonly (readonly [path: string, error: string])[];

export const rejectedByTypes = (place: Place, mutants: readonly Mutant[]) => rejected(place, mutants, typeErrors);
export const rejectedByLint = (place: Place, mutants: readonly Mutant[]) => rejected(place, mutants, lintErrors);

/** @returns the mutants with errors that their originals do not have */
function rejected(place: Place, mutants: readonly Mutant[], check: (place: Place) => Errors): Set<Mutant> {
  if (mutants.length === 0) return new Set();
  const copyOf = (file: string, name: string | number) => file.replace(/\.ts$/, `.mutant-${name}.ts`);
  const copies = new Map(mutants.map((mutant, index) => [copyOf(mutant.file, index), mutant]));
  const originals = new Map(mutants.map(({ file, source }) => [copyOf(file, 'none'), source]));
  for (const [copy, mutant] of copies) place.write(copy, mutate(mutant.source, mutant));
  for (const [copy, source] of originals) place.write(copy, source);
  const errors = Map.groupBy(check(place), ([path]) => path);
  for (const path of [...copies.keys(), ...originals.keys()]) rmSync(join(place.root, path));
  const errorsOf = (path: string) => new Set(errors.get(path)?.map(([, error]) => error));
  const isRejected = ([copy, { file }]: readonly [string, Mutant]) =>
    !errorsOf(copy).isSubsetOf(errorsOf(copyOf(file, 'none')));
  return new Set([...copies].filter(isRejected).map(([, mutant]) => mutant));
}

function run({ root }: Place, tool: string, ...args: string[]): string {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 29 } as const;
  return spawnSync(join(root, 'node_modules/.bin', tool), args, options).stdout;
}

/** Checks all of the source: a file's `declare module` affects files that do not import it. */
function typeErrors(place: Place): Errors {
  const config = 'tsconfig.mutants.json';
  place.write(config, JSON.stringify({ extends: './tsconfig.json', include: ['src'] }));
  const output = run(place, 'tsc', '--noEmit', '--pretty', 'false', '-p', config);
  rmSync(join(place.root, config));
  const lines = output.matchAll(/^(?<path>\S+\.ts)\(\d+,\d+\): (?<error>error .*)$/gm);
  // A message may name the file that declares a type.
  return [...lines].map(({ groups = {} }) => [String(groups.path), String(groups.error).replace(/\.mutant-\w+/g, '')]);
}

const Report = z.object({ diagnostics: z.array(z.object({ message: z.string(), filename: z.string() })) });

/** Only the rules of `.oxlintrc.json`: Biome would object to how mutants are written, such as constant conditions. */
function lintErrors(place: Place): Errors {
  const { diagnostics } = Report.parse(JSON.parse(run(place, 'oxlint', '--type-aware', '--format=json', 'src')));
  return diagnostics.map(({ filename, message }) => [filename, message]);
}

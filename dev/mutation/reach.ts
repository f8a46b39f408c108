/** Which test files can notice a change of a source file: those that import it, directly or not. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isNode, parse, walk } from './syntax.ts';

/** For each file, the files of the project that it imports. Paths are relative to the root. */
export type Imports = ReadonlyMap<string, readonly string[]>;

const CHILD_PROCESS = 'node:child_process';
const PROGRAM = 'src/main.ts';
/** Starts the program for tests. Tests that start Node.js themselves are assumed to start it as well. */
const STARTER = 'dev/processes/program.ts';
const NODE = /\bexecPath\b|\bfork\(/;

/** The test files that reach a source file, the likeliest to notice first. */
export function testsThatReach(source: string, imports: Imports, isInTier: (test: string) => boolean): string[] {
  const importers = new Map<string, string[]>();
  for (const [file, imported] of imports) {
    for (const one of imported) importers.set(one, [...(importers.get(one) ?? []), file]);
  }
  const reached = new Set([source]);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return [...reached]
    .filter((file) => file.endsWith('.test.ts') && isInTier(file))
    .map((file) => ({ file, distance: distance(source, file, imports) }))
    .sort((a, b) => a.distance - b.distance || a.file.localeCompare(b.file))
    .map(({ file }) => file);
}

/** Whether the test file, or something that it imports, starts a process that may run our source. */
export function startsProcess(test: string, imports: Imports): boolean {
  const reached = new Set([test]);
  for (const file of reached) {
    if (file === PROGRAM) return true;
    for (const imported of imports.get(file) ?? []) {
      if (imported === PROGRAM || !imported.startsWith('src/')) reached.add(imported);
    }
  }
  return false;
}

/** 0 for the test of the same name, else one more for each folder up to a common one; ten more if it starts processes. */
function distance(source: string, test: string, imports: Imports): number {
  const nameOf = (file: string) => basename(file).split('.')[0];
  if (nameOf(source) === nameOf(test)) return 0;
  let steps = startsProcess(test, imports) ? 11 : 1;
  let folder = dirname(source.replace(/^src\//, 'test/'));
  for (; folder !== '.' && !test.startsWith(`${folder}/`); folder = dirname(folder)) steps++;
  return steps;
}

/** Reads the imports of the files; types do not count. */
export function importsOf(root: string, files: readonly string[]): Imports {
  const resolved = (file: string, specifier: string) =>
    specifier === CHILD_PROCESS ? specifier : relative(root, resolve(root, dirname(file), specifier));
  return new Map(
    files
      .filter((file) => /^(src|dev|test|scripts)\/.*\.ts$/.test(file))
      .map((file) => {
        const source = readFileSync(join(root, file), 'utf8');
        const imported = importedBy(source).map((one) => resolved(file, one));
        const startsNode = file.startsWith('test/') && imported.includes(CHILD_PROCESS) && NODE.test(source);
        const isStarting = file === STARTER || startsNode;
        return [file, isStarting ? [...imported, PROGRAM] : imported];
      }),
  );
}

/** The relative specifiers and CHILD_PROCESS, of `import`, `export … from` and `import('…')`. */
function importedBy(source: string): string[] {
  const found: string[] = [];
  walk(parse(source), (node) => {
    const from = isNode(node.source) ? node.source.value : undefined;
    const typesOnly = [node.importKind, node.exportKind].includes('type');
    if (typeof from === 'string' && (from.startsWith('.') || from === CHILD_PROCESS) && !typesOnly) found.push(from);
    return true;
  });
  return found;
}

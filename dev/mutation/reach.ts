/** Which test files can notice a change of a source file: those that import it, directly or not. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isNode, parse, walk } from './syntax.ts';

/** What is started as a process, and so imported by nobody: by the files that start it. */
const STARTED: Readonly<Record<string, readonly string[]>> = {
  'dev/processes/program.ts': ['src/main.ts'],
  'test/api/announced-key.test.ts': ['src/main.ts'],
  'test/api/secrets/start.test.ts': ['src/main.ts'],
  'test/api/start-failure.test.ts': ['src/main.ts'],
  'test/settings/settings.test.ts': ['src/main.ts'],
  'test/signals.test.ts': ['src/main.ts'],
};

/** How far to look for a test that notices. Each includes the ones before it. */
export const REACHES = ['near', 'program', 'all'] as const;
export type Reach = (typeof REACHES)[number];

/** End-to-end tests that take seconds, each of something else. */
const E2E = ['others', 'drift', 'rotation', 'modules', 'references', 'replacement', 'handed-out', 'adoption-grant'].map(
  (name) => `test/e2e/${name}.test.ts`,
);

/** Rooms whose behaviour shows in the tests of another; holds for the folders in them, too. */
const NEAR: Readonly<Record<string, readonly string[]>> = {
  // Definitions, most of which are nothing but what the document says.
  'src/resources': ['test/api/openapi/checked-in.test.ts'],
  'src/api/families': ['test/api/openapi/checked-in.test.ts'],
  // Defaults, which the settings show and the documentation promises.
  'src/api/guard': ['test/api/settings.test.ts', 'test/api/limits.test.ts'],
  'src/api/store': ['test/api/crud', 'test/api/secrets'],
  'src/api/secrets': ['test/api/store'],
  'src/api/errors': ['test/api/http'],
  'src/api/crud': [
    'test/api/http/entity-tags.test.ts',
    'test/conformance/conformance.test.ts',
    'test/api/openapi/checked-in.test.ts',
  ],
  // What drives both APIs is tested where both are there.
  'src/operator/managed': E2E,
  'src/operator/controller': E2E,
  'src/operator/kinds': ['test/operator/crds/checked-in.test.ts', ...E2E],
};

/** The test files that reach a source file, from the most to the least likely to notice. Paths are relative to `root`. */
export function testsThatReach(
  source: string,
  reach: Reach,
  imports: ReadonlyMap<string, readonly string[]>,
): string[] {
  const importers = new Map<string, string[]>();
  for (const [file, imported] of imports) {
    for (const one of imported) importers.set(one, [...(importers.get(one) ?? []), file]);
  }
  const reached = new Set([source]);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return [...reached]
    .filter((file) => file.endsWith('.test.ts') && !file.endsWith('.deep.test.ts'))
    .map((file) => ({ file, distance: distance(source, file) }))
    .filter(({ file, distance }) => REACHES.indexOf(reachOf(source, file, distance)) <= REACHES.indexOf(reach))
    .sort((a, b) => a.distance - b.distance || a.file.localeCompare(b.file))
    .map(({ file }) => file);
}

/** How a test file starts what is not a program of ours, but may import parts of one. */
const CHILD_PROCESS = 'node:child_process';

/** Whether the test file starts a process, or something that it imports starts a program. */
export function startsProcess(test: string, imports: ReadonlyMap<string, readonly string[]>): boolean {
  if (imports.get(test)?.includes(CHILD_PROCESS)) return true;
  const reached = new Set([test]);
  for (const file of reached) {
    if (Object.hasOwn(STARTED, file)) return true;
    for (const imported of imports.get(file) ?? []) if (!imported.startsWith('src/')) reached.add(imported);
  }
  return false;
}

function reachOf(source: string, test: string, distance: number): Reach {
  const near = Object.entries(NEAR).flatMap(([room, tests]) => (source.startsWith(`${room}/`) ? tests : []));
  if (distance <= 1 || isNamesake(source, test)) return 'near';
  if (near.some((path) => test === path || test.startsWith(`${path}/`))) return 'near';
  return test.split('/')[1] === source.split('/')[1] ? 'program' : 'all';
}

/** A family, a code of an error and so on are defined in one room and served by another, which tests them. */
function isNamesake(source: string, test: string): boolean {
  return test.startsWith('test/api/') && basename(test) === basename(source).replace(/\.ts$/, '.test.ts');
}

/** 0: its own test; 1: a test of its folder or below; then one more for each folder up. */
function distance(source: string, test: string): number {
  const mirrored = source.replace(/^src\//, 'test/');
  if (test === mirrored.replace(/\.ts$/, '.test.ts')) return 0;
  let steps = 1;
  for (let folder = dirname(mirrored); folder !== '.'; folder = dirname(folder), steps++) {
    if (test.startsWith(`${folder}/`)) return steps;
  }
  return steps;
}

/** For each file, the files of the project that it imports; types do not count. Paths are relative to `root`. */
export function importsOf(root: string, files: readonly string[]): Map<string, string[]> {
  return new Map(
    files
      .filter((file) => /^(src|dev|test|scripts)\/.*\.ts$/.test(file))
      .map((file) => {
        const specifiers = importedBy(readFileSync(join(root, file), 'utf8'));
        const imported = specifiers.map((specifier) =>
          specifier === CHILD_PROCESS ? specifier : relative(root, resolve(root, dirname(file), specifier)),
        );
        return [file, [...imported, ...(STARTED[file] ?? [])]];
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

/** The arrows between the rooms of the source: which may import which (dev/architecture.ts lists them). */
import { readdir, readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { FAMILIES, FOR_ALL, LOADED_BY_COMMAND_LINE, ROOMS } from '../dev/architecture.ts';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

interface Import {
  file: string;
  specifier: string;
  /** The file of ours that it names; undefined for a package. */
  target: string | undefined;
}

const SPECIFIER = /^(?:import|export)\s[^'"=;()]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm;

async function importsOf(file: string): Promise<Import[]> {
  const text = await readFile(join(SRC, file), 'utf8');
  return [...text.matchAll(SPECIFIER)].map(([, from, bare, dynamic]) => {
    const specifier = from ?? bare ?? dynamic ?? '';
    return { file, specifier, target: specifier.startsWith('.') ? join(dirname(file), specifier) : undefined };
  });
}

const entries = await readdir(SRC, { recursive: true, withFileTypes: true });
const files = entries
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map(({ parentPath, name }) => relative(SRC, join(parentPath, name)));
const imports = (await Promise.all(files.map(importsOf))).flat();

/** The innermost listed room that a file is in. */
function roomOf(file: string): string {
  for (let at = file; at !== '.'; at = dirname(at)) if (at in ROOMS) return at;
  return file;
}

test('every file is in a room, and every room has files', () => {
  expect(files.filter((file) => !(roomOf(file) in ROOMS))).toEqual([]);
  const used = new Set(files.map(roomOf));
  expect(Object.keys(ROOMS).filter((room) => !used.has(room))).toEqual([]);
});

describe.each(Object.entries(ROOMS))('src/%s', (room, allowed) => {
  const all = imports.filter(({ file }) => roomOf(file) === room);
  const more = room === 'command-line.ts' ? LOADED_BY_COMMAND_LINE : [];

  test(`imports, besides packages, only ${[...allowed, ...more].join(', ') || 'itself'}`, () => {
    const wrong = all.filter(({ target }) => {
      return target !== undefined && ![room, ...allowed, ...more].includes(roomOf(target));
    });
    expect(wrong.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  test('uses every arrow on the list', () => {
    const used = new Set(all.flatMap(({ target }) => (target === undefined ? [] : [roomOf(target)])));
    const shared = [...FAMILIES, ...FOR_ALL];
    expect(allowed.filter((other) => !used.has(other) && !shared.includes(other))).toEqual([]);
  });
});

test('arrows between rooms run downwards only', () => {
  const order = Object.keys(ROOMS);
  const upwards = order.flatMap((room, index) =>
    (ROOMS[room] ?? []).filter((other) => order.indexOf(other) >= index).map((other) => `${room} -> ${other}`),
  );
  expect(upwards).toEqual([]);
});

/** The imports in folders beside `src`. */
async function importsOutside(): Promise<Import[]> {
  const all = ['bench', 'dev', 'scripts'].map(async (folder) => {
    const found = await readdir(join(SRC, '..', folder), { recursive: true });
    const sources = found.filter((name) => name.endsWith('.ts')).map((name) => join('..', folder, name));
    return (await Promise.all(sources.map(importsOf))).flat();
  });
  return (await Promise.all(all)).flat();
}
const outside = await importsOutside();

test('arrows between files form no circle', () => {
  const next = Map.groupBy([...imports, ...outside], ({ file }) => file);
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (file: string, path: readonly string[]) => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    if (done.has(file) || path.includes(file)) return;
    for (const { target } of next.get(file) ?? []) if (target !== undefined) walk(target, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) walk(file, []);
  expect(circles).toEqual([]);
});

test('imports name files with their extension, and modules of Node.js with the scheme node:', () => {
  const wrong = imports.filter(({ specifier }) =>
    specifier.startsWith('.')
      ? !specifier.endsWith('.ts') && !specifier.endsWith('.json')
      : builtinModules.includes(specifier),
  );
  expect(wrong).toEqual([]);
});

test('nothing imports from test/: code that the demo, benches and tests share is in dev/', () => {
  expect([...imports, ...outside].filter(({ target }) => target?.startsWith('../test/'))).toEqual([]);
});

test('the domain does no input or output', () => {
  // Of node:net only isIPv4 and isIPv6, which look at a string.
  const allowed = ['node:crypto', 'node:net', 'node:url'];
  const used = imports.filter(({ file }) => file.startsWith('resources/')).map(({ specifier }) => specifier);
  expect(used.filter((name) => name.startsWith('node:') && !allowed.includes(name))).toEqual([]);
});

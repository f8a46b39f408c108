/** The arrows between the parts of the source: who may import whom. */
import { readdir, readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/** What each part may import of ours, beside itself. The command line (`src/*.ts`) may import everything. */
const ARROWS: Record<string, readonly string[]> = {
  settings: [],
  postgres: [],
  resources: [],
  client: ['resources'],
  api: ['resources', 'settings', 'postgres'],
  operator: ['resources', 'client', 'settings'],
};

interface Import {
  file: string;
  specifier: string;
}

async function imports(part: string): Promise<Import[]> {
  const entries = await readdir(join(SRC, part), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.ts'));
  const found = files.map(async ({ parentPath, name }) => {
    const file = join(parentPath, name);
    const text = await readFile(file, 'utf8');
    const specifiers = text.matchAll(
      /^(?:import|export)\s[^'"=;()]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm,
    );
    return [...specifiers].map(([, from, bare, dynamic]) => {
      return { file: relative(SRC, file), specifier: from ?? bare ?? dynamic ?? '' };
    });
  });
  return (await Promise.all(found)).flat();
}

/** The part of the source that an import of ours leads to; undefined for a package. */
function target({ file, specifier }: Import): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const [part = '', ...rest] = join(dirname(file), specifier).split('/');
  return rest.length === 0 ? `src/${part}` : part;
}

test('every part of the source has its arrows', async () => {
  const parts = (await readdir(SRC, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  expect(parts.map(({ name }) => name).sort()).toEqual(Object.keys(ARROWS).sort());
});

describe.each(Object.entries(ARROWS))('src/%s', (part, allowed) => {
  test(`imports of ours only ${['itself', ...allowed].join(', ')}`, async () => {
    const all = await imports(part);
    expect(all.length).toBeGreaterThan(0);
    const wrong = all.filter((one) => ![undefined, part, ...allowed].includes(target(one)));
    expect(wrong).toEqual([]);
  });

  test('imports files with their extension, and what Node has with its scheme', async () => {
    const all = await imports(part);
    const wrong = all.filter(({ specifier }) =>
      specifier.startsWith('.') ? !specifier.endsWith('.ts') : builtinModules.includes(specifier),
    );
    expect(wrong).toEqual([]);
  });
});

test('the domain does no input or output', async () => {
  // Of node:net only isIPv4 and isIPv6, which look at a string.
  const allowed = ['node:crypto', 'node:net', 'node:url'];
  const used = (await imports('resources'))
    .map(({ specifier }) => specifier)
    .filter((name) => name.startsWith('node:'));
  expect(used.filter((name) => !allowed.includes(name))).toEqual([]);
});

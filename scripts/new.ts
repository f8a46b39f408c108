/**
 * npm run new -- family NAME       the definition of a family, on the list of families
 * npm run new -- migration NAME    the table of a family, from its definition
 * npm run new -- kind NAME         the custom resource of a family, on the list of kinds, and its example
 *
 * NAME is the singular name of the family in snake case, as in dns_zone. docs/adding-a-family.md describes the steps.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { addToList, definition, example, kindDeclaration } from '../dev/scaffold/family.ts';
import { type FamilyNames, familyNames, prefixOf } from '../dev/scaffold/names.ts';
import { createTable } from '../dev/scaffold/table.ts';
import { camel } from '../src/api/errors/naming.ts';
import { FAMILIES } from '../src/resources/families.ts';

const ROOT = join(import.meta.dirname, '..');
const MIGRATIONS = 'src/api/store/migrations';
const changed: string[] = [];

async function write(file: string, content: string): Promise<void> {
  if (existsSync(join(ROOT, file))) throw new Error(`${file} already exists`);
  await writeFile(join(ROOT, file), content);
  changed.push(file);
}

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const path = join(ROOT, file);
  await writeFile(path, change(await readFile(path, 'utf8')));
  changed.push(file);
}

async function newFamily(names: FamilyNames): Promise<string> {
  const { name, variable, file, client, plural } = names;
  const prefix = prefixOf(name);
  const taken = FAMILIES.find((each) => each.prefix === prefix || each.table === plural);
  if (taken?.name === name) throw new Error(`family ${name} already exists, in src/resources/${file}.ts`);
  if (taken) {
    throw new Error(
      `family ${taken.name} already has the prefix ${prefix} or the table ${plural}; choose another name`,
    );
  }
  await write(`src/resources/${file}.ts`, definition(names, prefix));
  await edit('src/resources/families.ts', (text) =>
    addToList(
      text,
      `import { ${variable} } from './${file}.ts';`,
      /export const families = \{[^}]*(?=\} as const)/,
      `\n  ${client}: ${variable},\n`,
    ),
  );
  return `Now define it in src/resources/${file}.ts (fields, samples, a better prefix than ${prefix}), then run: npm run new -- migration ${name}`;
}

async function newMigration({ name, plural }: FamilyNames): Promise<string> {
  const family = requireFamily(name);
  const all = (await readdir(join(ROOT, MIGRATIONS))).sort();
  const existing = all.find((file) => file.endsWith(`_${plural}.sql`));
  if (existing) throw new Error(`${MIGRATIONS}/${existing} already exists; delete it if it was never released`);
  const last = all.at(-1) ?? '0000';
  const number = String(Number(last.slice(0, 4)) + 1).padStart(4, '0');
  await write(`${MIGRATIONS}/${number}_${plural}.sql`, createTable(family));
  return 'Check the migration, then run: npm run record, npm run generate, and npm test -- test/api test/conformance';
}

async function newKind(names: FamilyNames): Promise<string> {
  const { name, variable, file } = names;
  const family = requireFamily(name);
  await write(`src/operator/kinds/${file}.ts`, kindDeclaration(names, family.prefix));
  await edit('src/operator/kinds/kinds.ts', (text) =>
    addToList(
      text,
      `import { ${variable}Kind } from './${file}.ts';`,
      /export const kinds[^=]*= \[[^\]]*(?=\])/,
      `${variable}Kind`,
    ),
  );
  const spec = Object.entries(family.samples.least).map(([field, value]) => [camel(field), withoutNumber(value)]);
  await write(`examples/${file}.yaml`, example(names, Object.fromEntries(spec)));
  return `Now describe it in both files, then run: npm run generate, and npm test -- test/operator test/e2e/every-kind.test.ts test/docs.test.ts`;
}

function requireFamily(name: string) {
  const family = FAMILIES.find((each) => each.name === name);
  if (family) return family;
  throw new Error(`family ${name} does not exist; first run: npm run new -- family ${name}`);
}

/** The value of a sample as a person would write it. */
const withoutNumber = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/ ?\{n\}/g, '')
      .replaceAll('{hex}', '1'),
  );

const COMMANDS: Readonly<Record<string, (names: FamilyNames) => Promise<string>>> = {
  family: newFamily,
  migration: newMigration,
  kind: newKind,
};

try {
  const [what = '', name = ''] = process.argv.slice(2);
  const command = COMMANDS[what];
  if (!command) throw new Error(`usage: npm run new -- ${Object.keys(COMMANDS).join('|')} NAME`);
  const next = await command(familyNames(name));
  const sources = changed.filter((file) => file.endsWith('.ts'));
  const biome = join(ROOT, 'node_modules', '.bin', 'biome');
  if (sources.length > 0) await promisify(execFile)(biome, ['check', '--write', ...sources], { cwd: ROOT });
  process.stdout.write(`${changed.map((file) => `wrote ${file}\n`).join('')}${next}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

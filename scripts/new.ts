/**
 * npm run new -- NAME
 *
 * NAME is the singular name of a family in snake case, as in dns_zone. The first run writes its definition; later
 * runs write what is still missing: its table, its kind and an example. docs/adding-a-family.md has the steps.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { addToList, definition, example, kindDeclaration, TO_DESCRIBE } from '../dev/scaffold/family.ts';
import { type FamilyNames, familyNames, prefixOf } from '../dev/scaffold/names.ts';
import { createTable } from '../dev/scaffold/table.ts';
import { camel } from '../src/api/errors/naming.ts';
import { withoutNone } from '../src/resources/definition/none.ts';
import type { Resource } from '../src/resources/definition/resource.ts';
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
  if (taken) {
    throw new Error(
      `family ${taken.name} already has the prefix ${prefix} or the table ${plural}; choose another name`,
    );
  }
  await write(`src/resources/${file}.ts`, definition(names, prefix));
  await edit('src/resources/account-families.ts', (text) =>
    addToList(
      text,
      `import { ${variable} } from './${file}.ts';`,
      /export const accountFamilies = \{[^}]*(?=\} as const)/,
      `\n  ${client}: ${variable},\n`,
    ),
  );
  return `Now define it in src/resources/${file}.ts: a description, fields, samples, a better prefix than ${prefix}. Then run the same command again.`;
}

async function newTable({ plural }: FamilyNames, family: Resource): Promise<void> {
  const all = (await readdir(join(ROOT, MIGRATIONS))).sort();
  const texts = await Promise.all(all.map((file) => readFile(join(ROOT, MIGRATIONS, file), 'utf8')));
  if (texts.some((text) => new RegExp(`\\bcreate table ${family.table}\\b`).test(text))) return;
  const number = String(Number(all.at(-1)?.slice(0, 4) ?? 0) + 1).padStart(4, '0');
  await write(`${MIGRATIONS}/${number}_${plural}.sql`, createTable(family));
}

async function newKind(names: FamilyNames, family: Resource): Promise<void> {
  const { variable, file } = names;
  if (!existsSync(join(ROOT, `src/operator/kinds/${file}.ts`))) {
    await write(`src/operator/kinds/${file}.ts`, kindDeclaration(names, family));
    await edit('src/operator/kinds/kinds.ts', (text) =>
      addToList(
        text,
        `import { ${variable}Kind } from './${file}.ts';`,
        /export const kinds[^=]*= \[[^\]]*(?=\])/,
        `${variable}Kind`,
      ),
    );
  }
  if (!existsSync(join(ROOT, `examples/${file}.yaml`))) {
    const spec = Object.entries(family.samples.least).map(([field, value]) => [camel(field), withoutNumber(value)]);
    await write(`examples/${file}.yaml`, example(names, family, Object.fromEntries(spec)));
  }
}

/** The value of a sample, as one would write it by hand. */
const withoutNumber = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/ ?\{n\}/g, '')
      .replaceAll('{hex}', '1'),
  );

/** What the tests would say later, and less clearly. */
function problemsOf({ fields, samples }: Resource): string[] {
  const numbered = JSON.stringify(samples).replaceAll(/\{(?:n|hex)\}/g, '1');
  const { least, full } = z.object({ least: sample, full: sample }).parse(JSON.parse(numbered));
  return Object.entries(fields).flatMap(([name, { input, onCreate, refersTo }]) => {
    const invalid = Object.entries({ least, full }).filter(([, { [name]: value }]) => {
      const isOpen = refersTo !== undefined || JSON.stringify(value)?.includes('{');
      return value !== undefined && !isOpen && !input.safeParse(value).success;
    });
    const { description } = z.toJSONSchema(withoutNone(input), { io: 'input', unrepresentable: 'any' });
    return [
      ...(onCreate !== 'derived' && !(input.description ?? description) ? [`${name} has no description`] : []),
      ...(onCreate === 'required' && !(name in least) ? [`samples.least lacks ${name}`] : []),
      ...invalid.map(([of]) => `samples.${of} has an invalid ${name}`),
    ];
  });
}

const sample = z.record(z.string(), z.unknown());

async function writeMissing(names: FamilyNames): Promise<string> {
  const family = FAMILIES.find((each) => each.name === names.name);
  if (!family) return newFamily(names);
  if (family.description.includes(TO_DESCRIBE)) throw new Error(`first describe it in src/resources/${names.file}.ts`);
  const problems = problemsOf(family);
  if (problems.length > 0)
    throw new Error(problems.map((each) => `src/resources/${names.file}.ts: ${each}`).join('\n'));
  await newTable(names, family);
  await newKind(names, family);
  return 'Now run: npm run generate && npm run check';
}

try {
  const [name, ...more] = process.argv.slice(2);
  if (name === undefined || more.length > 0)
    throw new Error('usage: npm run new -- NAME (singular, in snake case, as in dns_zone)');
  const next = await writeMissing(familyNames(name));
  const sources = changed.filter((file) => file.endsWith('.ts'));
  const biome = join(ROOT, 'node_modules', '.bin', 'biome');
  if (sources.length > 0) await promisify(execFile)(biome, ['check', '--write', ...sources], { cwd: ROOT });
  process.stdout.write(`${changed.map((file) => `wrote ${file}\n`).join('')}${next}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

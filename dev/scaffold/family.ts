/** The initial files of a new family or kind. */
import { described, type Resource } from '../../src/resources/definition/resource.ts';
import type { FamilyNames } from './names.ts';

/** Stands for a description in a new definition. */
export const TO_DESCRIBE = 'Describe one here, in a sentence.';

/** @param prefix of ids, without the underscore */
export const definition = ({ name, plural, variable, title, many }: FamilyNames, prefix: string): string => `\
/** ${capital(many)}. */
import { described, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { bytes } from './formats/text.ts';

export const ${variable} = resource({
  name: '${name}',
  title: '${title}',
  prefix: '${prefix}',
  path: '/${plural}',
  collection: '${plural}',
  tag: '${capital(many)}',
  extension: true,
  description: '${TO_DESCRIBE}',
  fields: {
    ...described('What it is for.'),
    name: required(bytes(255).min(1, 'must not be empty').meta({ description: 'Its name.', examples: ['example'] })),
  },
  samples: {
    least: { name: 'example {n}' },
    full: { ...DESCRIBED, name: 'example {n}' },
    change: { ...CHANGED, name: 'changed {n}' },
  },
});
`;

export const kindDeclaration = (names: FamilyNames, { prefix, description, fields }: Resource): string => `\
/** \`${names.title}\`. ${description} */
import { ${names.variable} } from '../../resources/${names.file}.ts';
import { plainKind } from './plain-kind.ts';

export const ${names.variable}Kind = plainKind(${names.variable}, {
  kind: '${names.title}',
  shortNames: ['${prefix}'],
  calls: (client) => client.${names.client},
  columns: ['${Object.keys(fields).find((name) => !(name in described('')))}'],
});
`;

/** @param spec the members of the spec, by their names there */
export const example = (
  { title, file }: FamilyNames,
  { description }: Pick<Resource, 'description'>,
  spec: Readonly<Record<string, unknown>>,
): string => `\
# ${description}
apiVersion: tunnel-operator.dev/v1alpha1
kind: ${title}
metadata:
  name: my-${file}
spec:
${Object.entries(spec)
  .map(
    ([name, value]) => `  ${name}: ${typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value)}\n`,
  )
  .join('')}`;

/** Text that needs no quotes in YAML. */
const PLAIN = /^[A-Za-z][\w ./-]*$/;

export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Adds an import next to similar ones, and a line at the end of a list. */
export function addToList(text: string, imported: string, list: RegExp, line: string): string {
  const imports = [...text.matchAll(/^import .*;$/gm)];
  const last = imports.at(-1);
  const end = (last?.index ?? 0) + (last?.[0].length ?? 0);
  const withImport = `${text.slice(0, end)}\n${imported}${text.slice(end)}`;
  const found = list.exec(withImport);
  if (!found) throw new Error(`the list ${list} was not found; add the line "${line}" by hand`);
  const close = found.index + found[0].length;
  // In a one-line list, the comma comes before the new element; in a list with a line for each, after it.
  const before = withImport.slice(0, close).trimEnd();
  const separator = /[,[{]$/.test(before) ? '' : ', ';
  return `${before}${separator}${line}${withImport.slice(close)}`;
}

/** The generated parts of docs/normalisation.md: values that come back in another form than they were sent. */
import { isDeepStrictEqual } from 'node:util';
import { fill } from '../dev/fixtures/placeholders.ts';
import { numbered } from '../dev/fixtures/samples.ts';
import { CHOSEN, FORMATS, isReadBack, requestFields } from '../dev/fixtures/spellings.ts';

const EXAMPLE = { ...numbered(1), made: { uri: 'https://…/event_subscriptions/esb_…' } };

/** Escapes a table cell, which Markdown would end at a bar. */
const code = (value: unknown) => `\`${JSON.stringify(value).replaceAll('|', '\\|')}\``;
const names = (keys: readonly string[]) => keys.map((key) => `\`${key}\``).join(', ');
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

export function normalisedTable(): string {
  const rows = FORMATS.flatMap(({ fields, rule, spellings }) => {
    const example = spellings.findLast(({ sent, shown }) => shown !== undefined && !isDeepStrictEqual(sent, shown));
    if (rule === undefined || example === undefined) return [];
    const { sent, shown } = fill({ sent: example.sent, shown: example.shown }, EXAMPLE);
    return [[names(fields), rule, code(sent), code(shown)]];
  });
  return table(['Field', 'What is shown', 'Sent', 'Shown'], rows);
}

/** What null stands for, if not null itself. */
export function defaultsTable(): string {
  const byDefault = new Map<string, string[]>();
  for (const { key, field } of requestFields()) {
    if (!field.input.safeParse(null).success || !isReadBack(field)) continue;
    const shown = CHOSEN[key] ?? (field.initial === null ? undefined : code(field.initial));
    if (shown !== undefined) byDefault.set(shown, [...(byDefault.get(shown) ?? []), key]);
  }
  return table(
    ['Field', 'Default'],
    [...byDefault].map(([shown, keys]) => [names(keys), shown]),
  );
}

/** Fields that a response shows under another name, with their address. */
export function renamedTable(): string {
  const rows = [...requestFields()].flatMap(({ key, field: { as } }) => (as ? [[`\`${key}\``, `\`${as}\``]] : []));
  return table(['Sent as', 'Shown as'], rows);
}

export function hiddenTable(): string {
  const keys = [...requestFields()].filter(({ field }) => !isReadBack(field)).map(({ key }) => key);
  return names(keys);
}

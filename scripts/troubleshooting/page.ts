/** The generated tables of docs/troubleshooting.md. */
import { EVENT_REASON, REASON } from '../../src/operator/contract/reasons.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import type { AnyKind } from '../../src/operator/managed/declaration/kind.ts';
import { type Concern, EVENT_TEXTS, REASON_TEXTS, type ReasonText } from './reasons.ts';
import { hasReferences, hasSources } from './uses.ts';

/** The titles and the order of the tables. */
const TITLES: Readonly<Record<Concern, string>> = {
  spec: 'Something about this object has to change',
  'another object': 'It waits for another object',
  administrator: 'Something about the operator, the API or the cluster has to change',
  nobody: 'Nothing is wrong',
};

/** Sets of kinds that are too long for a cell. */
const SETS: readonly { name: string; has: (kind: AnyKind) => boolean }[] = [
  { name: 'all', has: () => true },
  { name: 'with references', has: hasReferences },
  { name: 'with sources', has: hasSources },
  { name: 'with references or sources', has: (kind) => hasReferences(kind) || hasSources(kind) },
  { name: 'all but modules', has: ({ owner }) => owner === undefined },
];

export function reasonsSection(): string {
  const entries = Object.entries(REASON_TEXTS).map(([key, text]) => ({ reason: reasonOf(key), text }));
  const tables = Object.entries(TITLES).map(([concern, title]) => {
    const rows = entries.filter(({ text }) => text.concern === concern);
    const withRemedy = rows.some(({ text }) => text.remedy !== undefined);
    return [
      `### ${title}`,
      '',
      `| Reason | Condition | Kinds | What it means |${withRemedy ? ' What to do |' : ''}`,
      `|---|---|---|---|${withRemedy ? '---|' : ''}`,
      ...rows.map(({ reason, text }) => row(reason, text, withRemedy)),
    ].join('\n');
  });
  return [...tables, `Kinds with references: ${names(hasReferences)}. Kinds with sources: ${names(hasSources)}.`].join(
    '\n\n',
  );
}

export function eventsSection(): string {
  const rows = Object.entries(EVENT_TEXTS).map(([key, text]) => `| \`${eventReasonOf(key)}\` | ${text} |`);
  return ['| Event | What has happened |', '|---|---|', ...rows].join('\n');
}

function row(reason: string, { on, kinds, meaning, remedy }: ReasonText, withRemedy: boolean): string {
  return `| \`${reason}\` | ${on} | ${nameOfSet(kinds ?? (() => true))} | ${meaning} |${withRemedy ? ` ${remedy ?? ''} |` : ''}`;
}

function nameOfSet(has: (kind: AnyKind) => boolean): string {
  const same = SETS.find((set) => allKinds.every((kind) => set.has(kind) === has(kind)));
  return same?.name ?? names(has);
}

function names(has: (kind: AnyKind) => boolean): string {
  const found = allKinds.filter(has).map(({ kind }) => kind);
  return found.join(', ');
}

const reasonOf = (key: string) => new Map<string, string>(Object.entries(REASON)).get(key) ?? key;
const eventReasonOf = (key: string) => new Map<string, string>(Object.entries(EVENT_REASON)).get(key) ?? key;

/** The generated tables of docs/troubleshooting.md. */
import { EVENT_REASON, REASON } from '../../src/operator/contract/reasons.ts';
import { type Concern, EVENT_TEXTS, REASON_TEXTS, type ReasonText } from './reasons.ts';

/** The titles and the order of the tables. */
const TITLES: Readonly<Record<Concern, string>> = {
  spec: 'Something about this object has to change',
  'another object': 'It waits for another object',
  administrator: 'Something about the operator, the API or the cluster has to change',
  nobody: 'Nothing is wrong',
};

export function reasonsSection(): string {
  const entries = Object.entries(REASON_TEXTS).map(([key, text]) => ({ reason: reasonOf(key), text }));
  const tables = Object.entries(TITLES).map(([concern, title]) => {
    const rows = entries.filter(({ text }) => text.concern === concern);
    const withRemedy = rows.some(({ text }) => text.remedy !== undefined);
    return [
      `### ${title}`,
      '',
      `| Reason | Condition | What it means |${withRemedy ? ' What to do |' : ''}`,
      `|---|---|---|${withRemedy ? '---|' : ''}`,
      ...rows.map(({ reason, text }) => row(reason, text, withRemedy)),
    ].join('\n');
  });
  return tables.join('\n\n');
}

export function eventsSection(): string {
  const rows = Object.entries(EVENT_TEXTS).map(([key, text]) => `| \`${eventReasonOf(key)}\` | ${text} |`);
  return ['| Event | What has happened |', '|---|---|', ...rows].join('\n');
}

function row(reason: string, { on, meaning, remedy }: ReasonText, withRemedy: boolean): string {
  return `| \`${reason}\` | ${on} | ${meaning} |${withRemedy ? ` ${remedy ?? ''} |` : ''}`;
}

const reasonOf = (key: string) => new Map<string, string>(Object.entries(REASON)).get(key) ?? key;
const eventReasonOf = (key: string) => new Map<string, string>(Object.entries(EVENT_REASON)).get(key) ?? key;

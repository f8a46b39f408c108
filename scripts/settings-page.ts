/** The tables of docs/settings.md: every setting of both programs, as `--help` shows it. */
import { operatorSettings } from '../src/operator/settings.ts';
import type { Setting, Settings } from '../src/settings/settings.ts';

/** Defaults that each process determines itself. */
const FOUND: Readonly<Record<string, string>> = {
  [operatorSettings.identity.env]: 'the name of the host and a random part',
};

export function settingsTable(settings: Settings): string {
  const rows = Object.values(settings).map(
    (setting) => `| ${code(setting.env)} | ${code(setting.flag)} | ${defaultOf(setting)} | ${setting.description} |`,
  );
  return ['| Variable | Flag | Default | Meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function defaultOf({ env, default: text, schema }: Setting): string {
  if (text !== undefined) return FOUND[env] ?? code(text);
  return schema.safeParse(undefined).success ? '' : 'none: required';
}

/** Markdown would end a cell at a bar. */
const code = (text: string | undefined) => (text === undefined ? '' : `\`${text.replaceAll('|', '\\|')}\``);

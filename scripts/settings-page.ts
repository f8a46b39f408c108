/** The tables of docs/settings.md: every setting of the programs, as `--help` shows it. */
import { operatorSettings } from '../src/operator/settings.ts';
import { fileVariable, type Setting, type Settings } from '../src/settings/settings.ts';

/** Defaults that each process determines itself. */
const FOUND: Readonly<Record<string, string>> = {
  [operatorSettings.identity.env]: 'the name of the host and a random part',
};

export function settingsTable(settings: Settings): string {
  const rows = Object.values(settings).map(
    (setting) => `| ${variables(setting)} | ${code(setting.flag)} | ${defaultOf(setting)} | ${setting.description} |`,
  );
  return ['| Variable | Flag | Default | Meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function variables(setting: Setting): string {
  const file = fileVariable(setting);
  return file === undefined ? code(setting.env) : `${code(setting.env)} or ${code(file)}`;
}

function defaultOf({ env, default: text, schema }: Setting): string {
  if (text !== undefined) return FOUND[env] ?? code(text);
  return schema.safeParse(undefined).success ? '' : 'none: required';
}

/** Markdown would end a cell at a bar. */
const code = (text: string | undefined) => (text === undefined ? '' : `\`${text.replaceAll('|', '\\|')}\``);

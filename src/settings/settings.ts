/** Settings from flags and the environment, checked together, so that one message names everything that is wrong. */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { codeOf } from '../errors.ts';

export interface Setting {
  /** Environment variable. */
  readonly env: string;
  /** As commander takes it; absent for secrets that must not show in a process list. */
  readonly flag?: string;
  readonly description: string;
  /** The flag may be given several times; the values are joined with commas. */
  readonly isRepeatable?: boolean;
  /** Never shown, not even in an error. It can also be given as a file, which the variable with the suffix `_FILE` names. */
  readonly secret?: boolean;
  /** Whether a running program follows changes of that file, instead of asking for a restart. */
  readonly followed?: boolean;
  /** As text, like the value of a flag. Without a default, the schema of an unset setting parses undefined. */
  readonly default?: string;
  /** Parses the text. */
  readonly schema: z.ZodType;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export type Settings = Readonly<Record<string, Setting>>;

/** The values of a table of settings. */
export type Values<T extends Settings> = { [K in keyof T]: z.output<T[K]['schema']> };

/** Every bad setting, one line each. */
export class BadSettings extends Error {
  override readonly name = 'BadSettings';
}

/**
 * Reads a table of settings; a flag wins over its environment variables, an empty variable counts as unset.
 * @param flags by camel-cased flag name, as commander gives them
 * @throws BadSettings naming every bad setting and what would be right
 */
export function readSettings<T extends Settings>(
  table: T,
  flags: Readonly<Record<string, unknown>>,
  environment: Environment,
): Values<T> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, setting] of Object.entries(table)) {
    const read = readSetting(setting, flags, environment);
    if ('problem' in read) problems.push(read.problem);
    else values[name] = read.value;
  }
  if (problems.length > 0) throw new BadSettings(problems.join('\n'));
  // Every member was parsed by the schema that Values takes its type from.
  return values as Values<T>;
}

/** One setting as it was given and its value, or what is wrong with it. */
export function readSetting(
  setting: Setting,
  flags: Readonly<Record<string, unknown>>,
  environment: Environment,
): { given: unknown; value: unknown } | { problem: string } {
  const found = find(setting, flags, environment);
  if ('problem' in found) return found;
  const { given, source } = found;
  const parsed = setting.schema.safeParse(given);
  return parsed.success ? { given, value: parsed.data } : { problem: explain(setting, given, source, parsed.error) };
}

/** The variable that names the file with a secret; undefined for other settings. */
export const fileVariable = ({ env, secret }: Setting): string | undefined => (secret ? `${env}_FILE` : undefined);

/** The variable with the name of the file that the setting is read from; undefined if it is given in another way. */
export function readFromFile(
  setting: Setting,
  flags: Readonly<Record<string, unknown>>,
  environment: Environment,
): string | undefined {
  const variable = fileVariable(setting);
  return variable && environment[variable] && flagGiven(setting, flags) === undefined ? variable : undefined;
}

/** `--api-url <url>` gives `apiUrl`. */
export function flagName(flag: string): string {
  const long = /--([a-z0-9-]+)/.exec(flag)?.[1] ?? '';
  return long.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The long form of a flag without its argument. */
function flagOf(setting: Setting): string | undefined {
  return setting.flag && /--[a-z0-9-]+/.exec(setting.flag)?.[0];
}

function find(
  setting: Setting,
  flags: Readonly<Record<string, unknown>>,
  environment: Environment,
): { given: unknown; source: string } | { problem: string } {
  const given = flagGiven(setting, flags);
  if (given !== undefined) return { given, source: flagOf(setting) ?? setting.env };
  const { env } = setting;
  const variable = readFromFile(setting, flags, environment);
  if (variable === undefined) return { given: environment[env] || setting.default, source: env };
  if (environment[env]) return { problem: `${env} and ${variable} are both set: unset one of them` };
  return readSecret(variable, environment[variable] ?? '');
}

function flagGiven({ flag }: Setting, flags: Readonly<Record<string, unknown>>): unknown {
  return flag === undefined ? undefined : flags[flagName(flag)];
}

/** The content of a file without the line break that editors and `echo` add. */
function readSecret(variable: string, path: string): { given: unknown; source: string } | { problem: string } {
  const file = `${variable} is ${JSON.stringify(path)}`;
  let given: string;
  try {
    given = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    return { problem: `${file}, which cannot be read: ${codeOf(error)}` };
  }
  // Counted as unset, it would start an embedded database in place of the one that was meant.
  return given === '' ? { problem: `${file}, which is empty` } : { given, source: `the content of ${variable}` };
}

function explain(setting: Setting, value: unknown, source: string, error: z.ZodError): string {
  if (value === undefined) {
    const flag = flagOf(setting);
    return `${flag ? `${flag} or ${setting.env}` : setting.env} is missing: ${setting.description}`;
  }
  const reasons = [...new Set(error.issues.map((issue) => issue.message))].join(', ');
  return `${source}${setting.secret ? '' : ` is ${shown(value)}, but`} ${reasons}`;
}

/** A URL without the password that it may hold by mistake. */
const shown = (value: unknown) => JSON.stringify(value).replace(/\/\/[^/?#]*@/, '//…@');

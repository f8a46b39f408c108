/** Settings from flags and the environment, checked together, so that one message names everything that is wrong. */
import type { z } from 'zod';

export interface Setting {
  /** Environment variable. */
  readonly env: string;
  /** As commander takes it; absent for secrets that must not show in a process list. */
  readonly flag?: string;
  readonly description: string;
  /** The flag may be given several times; the values are joined with commas. */
  readonly isRepeatable?: boolean;
  /** Never shown, not even in an error. */
  readonly secret?: boolean;
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
 * Reads a table of settings; a flag wins over its environment variable, an empty variable counts as unset.
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
    const { value, source } = find(setting, flags, environment);
    const parsed = setting.schema.safeParse(value);
    if (parsed.success) values[name] = parsed.data;
    else problems.push(explain(setting, value, source, parsed.error));
  }
  if (problems.length > 0) throw new BadSettings(problems.join('\n'));
  // Every member was parsed by the schema that Values takes its type from.
  return values as Values<T>;
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
): { value: unknown; source: string } {
  const flag = flagOf(setting);
  const given = setting.flag === undefined ? undefined : flags[flagName(setting.flag)];
  if (given !== undefined && flag !== undefined) return { value: given, source: flag };
  return { value: environment[setting.env] || setting.default, source: setting.env };
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

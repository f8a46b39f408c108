/** What happens when a file changes that a secret was read from, such as a mounted Secret. */
import {
  BadSettings,
  type Environment,
  readFromFile,
  readSetting,
  type Setting,
  type Settings,
  type Values,
} from './settings.ts';

/** For each followed secret that is given as a file: what the file holds now. */
export type Followed<T extends Settings> = { [K in keyof T]?: () => Values<T>[K] };

export interface SecretLog {
  info(message: string): void;
  warn(message: string): void;
}

/** The file is read when its value is asked for, but not more often than this. */
const MAX_AGE_MS = 1_000;
/** How often to look for a change while nothing asks for the value, so that the log says what is in use. */
const LOOK_MS = 30_000;

/**
 * Follows the files of a table of settings.
 * @throws BadSettings if one of them cannot be used
 */
export function followSecrets<T extends Settings>(
  table: T,
  flags: Readonly<Record<string, unknown>>,
  environment: Environment,
  log: SecretLog,
): Followed<T> {
  const followed: Record<string, () => unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const variable = readFromFile(setting, flags, environment);
    if (variable === undefined) continue;
    const read = reader(setting, variable, environment, log);
    setInterval(read, LOOK_MS).unref();
    if (setting.followed) followed[name] = read;
  }
  // Each function returns what the schema of its setting has parsed.
  return followed as Followed<T>;
}

/** Returns the newest valid value. Says once when the value changes, and when the file cannot be used any more. */
function reader(setting: Setting, variable: string, environment: Environment, log: SecretLog): () => unknown {
  const first = readSetting(setting, {}, environment);
  if ('problem' in first) throw new BadSettings(first.problem);
  let current = first;
  let problem: string | undefined;
  let readAt = performance.now();
  return () => {
    if (performance.now() - readAt < MAX_AGE_MS) return current.value;
    readAt = performance.now();
    const found = readSetting(setting, {}, environment);
    if ('problem' in found) {
      if (found.problem !== problem) log.warn(`${found.problem}; the last value stays in use`);
      problem = found.problem;
      return current.value;
    }
    problem = undefined;
    if (found.given !== current.given) {
      if (setting.followed) log.info(`${variable}: the file has changed`);
      else log.warn(`${variable}: the file has changed; restart to use it`);
    }
    current = found;
    return current.value;
  };
}

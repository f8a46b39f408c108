/** What a shell finds, and how it wants words. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Whether a shell would find the command. */
export function isOnPath(command: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)));
}

/** Quoted for the shell. */
export function quoted(path: string): string {
  return /^[\w./:@-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

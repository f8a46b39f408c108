/** A copy of the working tree in which files may be broken. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Sandbox {
  readonly root: string;
  /** All files that git tracks or does not ignore, relative to `root`. */
  readonly files: readonly string[];
  write(file: string, text: string): void;
  /** Puts the file back as it was. */
  restore(file: string): void;
  remove(): void;
}

export function createSandbox(original: string): Sandbox {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: original });
  const files = list
    .toString()
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(original, file)));
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'tunnel-operator-mutants-')));
  const restore = (file: string) => cpSync(join(original, file), join(root, file));
  for (const file of files) restore(file);
  symlinkSync(realpathSync(join(original, 'node_modules')), join(root, 'node_modules'));
  return {
    root,
    files,
    write: (file, text) => writeFileSync(join(root, file), text),
    restore,
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

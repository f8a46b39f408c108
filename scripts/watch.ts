/** Which programs a source change affects, and when the change is complete. */
import { watch } from 'node:fs/promises';
import { sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Editors and checkouts write several files at once. */
const SETTLED_MS = 200;

export interface Concerned {
  api: boolean;
  operator: boolean;
}

/** @param files below `src`, with `/` between folders */
export function concerned(files: readonly string[]): Concerned {
  return {
    api: files.some((file) => !file.startsWith('operator/') && !file.startsWith('client/')),
    operator: files.some((file) => !file.startsWith('api/')),
  };
}

/** Calls `onChange` with the changed files, until `signal` aborts; changes during a call are reported after it. */
export async function watchSource(
  folder: string,
  onChange: (files: readonly string[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const changed = new Set<string>();
  let reporting: Promise<void> | undefined;
  const report = async () => {
    while (changed.size > 0) {
      await delay(SETTLED_MS, undefined, { signal });
      const files = [...changed].sort();
      changed.clear();
      await onChange(files);
    }
    reporting = undefined;
  };
  try {
    for await (const { filename } of watch(folder, { recursive: true, signal })) {
      if (filename === null || !/\.(ts|sql)$/.test(filename)) continue;
      changed.add(filename.split(sep).join('/'));
      reporting ??= report().catch((error) => {
        if (!signal.aborted) throw error;
      });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await reporting;
}

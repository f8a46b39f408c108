import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rejectedByLint } from '../../../dev/mutation/lint-check.ts';
import { mutantsOf } from '../../../dev/mutation/mutant.ts';

test('the linter rejects a mutant that does not wait for a promise, and no other', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'mutation-lint-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (file: string, text: string) => writeFileSync(join(root, file), text);
  symlinkSync(realpathSync('node_modules'), join(root, 'node_modules'));
  cpSync('.oxlintrc.json', join(root, '.oxlintrc.json'));
  cpSync('tsconfig.json', join(root, 'tsconfig.json'));
  write('package.json', '{"type": "module"}');
  mkdirSync(join(root, 'src'));
  write('src/store.ts', 'export interface Store { put(text: string): Promise<void>; count(): number }');
  const writing = `import type { Store } from './store.ts';
export async function writeTwice(store: Store, text: string) {
  await store.put(text);
  if (store.count() > 1) return;
  await store.put(text);
}
`;
  write('src/writing.ts', writing);

  const mutants = mutantsOf('src/writing.ts', writing);
  const rejected = rejectedByLint({ root, write }, mutants);
  const texts = [...rejected].map(({ text, line }) => `${line}: ${text}`);
  expect(texts).toEqual([
    '3: await store.put(text); → store.put(text);',
    '5: await store.put(text); → store.put(text);',
  ]);
  expect(mutants.length).toBeGreaterThan(rejected.size);
  expect(readdirSync(join(root, 'src'))).toHaveLength(2);
});

import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rejectedByLint, rejectedByTypes } from '../../../dev/mutation/check.ts';
import { mutantsOf } from '../../../dev/mutation/mutators.ts';

test('the type check and the linter reject a mutant for its own errors, not for those of every copy', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'mutation-check-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (file: string, text: string) => writeFileSync(join(root, file), text);
  symlinkSync(realpathSync('node_modules'), join(root, 'node_modules'));
  cpSync('.oxlintrc.json', join(root, '.oxlintrc.json'));
  mkdirSync(join(root, 'src'));
  write('package.json', '{"type": "module"}');
  const compilerOptions = { strict: true, target: 'esnext', module: 'nodenext', allowImportingTsExtensions: true };
  write('tsconfig.json', JSON.stringify({ compilerOptions: { ...compilerOptions, noEmit: true, types: [] } }));
  // A copy of a class with a private member is another type: an error of every copy.
  write('src/pen.ts', "import type { Drawing } from './drawing.ts';\nexport const draw = (on: Drawing) => on;");
  const drawing = `import { draw } from './pen.ts';
export class Drawing {
  #names: string[] = [];
  async add(name: string | undefined, save: () => Promise<void>): Promise<Drawing> {
    if (name === undefined) return draw(this);
    if (name.length > 3) this.#names.push(name);
    await save();
    return draw(this);
  }
}
`;
  write('src/drawing.ts', drawing);

  const mutants = mutantsOf('src/drawing.ts', drawing);
  const texts = (rejected: Set<(typeof mutants)[number]>) => [...rejected].map(({ text }) => text.split(' → ')[1]);
  expect(texts(rejectedByTypes({ root, write }, mutants))).toEqual([
    'if (true) return draw(this);',
    'if (false) return draw(this);',
    'if (name !== undefined) return draw(this);',
    'if (false) this.#names.push(name);',
  ]);
  expect(texts(rejectedByLint({ root, write }, mutants))).toEqual(['save();']);
  expect(readdirSync(join(root, 'src'))).toHaveLength(2);
});

import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { mutantsOf } from '../../../dev/mutation/mutant.ts';
import { rejectedByTypes } from '../../../dev/mutation/type-check.ts';

test('the type check rejects a mutant for its own errors, and not for those of any copy of its file', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'mutation-types-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (file: string, text: string) => writeFileSync(join(root, file), text);
  symlinkSync(realpathSync('node_modules'), join(root, 'node_modules'));
  mkdirSync(join(root, 'src'));
  write('package.json', '{"type": "module"}');
  const compilerOptions = { strict: true, target: 'esnext', module: 'nodenext', allowImportingTsExtensions: true };
  write('tsconfig.json', JSON.stringify({ compilerOptions: { ...compilerOptions, noEmit: true, types: [] } }));
  // What a file adds to a type of another, a third uses without importing it.
  write('src/shape.ts', 'export interface Shape { sides: number }');
  write('src/named.ts', "declare module './shape.ts' { interface Shape { name: string } }\nexport {};");
  // A copy of a class with a private member is another type.
  write('src/pen.ts', "import type { Drawing } from './drawing.ts';\nexport const draw = (on: Drawing) => on;");
  const drawing = `import type { Shape } from './shape.ts';
import { draw } from './pen.ts';
export class Drawing {
  #shapes: Shape[] = [];
  add(shape: Shape | undefined): Drawing {
    if (shape === undefined) return draw(this);
    if (shape.name.length > 3) this.#shapes.push(shape);
    return draw(this);
  }
}
`;
  write('src/drawing.ts', drawing);

  const mutants = mutantsOf('src/drawing.ts', drawing);
  const rejected = rejectedByTypes({ root, write }, mutants);
  const texts = (isRejected: boolean) =>
    mutants.filter((mutant) => rejected.has(mutant) === isRejected).map(({ text }) => text.split(' → ')[1]);
  expect(texts(true)).toEqual([
    'if (true) return draw(this);',
    'if (false) return draw(this);',
    'if (shape !== undefined) return draw(this);',
    'if (false) this.#shapes.push(shape);',
  ]);
  expect(texts(false)).toEqual([
    'if (true) this.#shapes.push(shape);',
    'if (shape.name.length >= 3) this.#shapes.push(shape);',
    'if (shape.name.length > 4) this.#shapes.push(shape);',
    'if (shape.name.length > 3) {}',
  ]);
  expect(readdirSync(join(root, 'src'))).toHaveLength(4);
});

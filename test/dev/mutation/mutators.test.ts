import { describe, expect, test } from 'vitest';
import { mutate, mutationsOf } from '../../../dev/mutation/mutators.ts';

const mutants = (source: string) => mutationsOf(source).map((mutation) => mutate(source, mutation));

describe('mutations', () => {
  test.each<[string, string, string[]]>([
    ['a comparison, at its boundary', 'f(a < b);', ['f(a <= b);']],
    ['an equality', 'f(a === b);', ['f(a !== b);']],
    ['a condition, both ways', 'const x = a ? b : c;', ['const x = true ? b : c;', 'const x = false ? b : c;']],
    ['a negation', 'const x = !(a ?? b);', ['const x = (a ?? b);', 'const x = !(a);', 'const x = !(b);']],
    ['a default', 'const x = a ?? b;', ['const x = a;', 'const x = b;']],
    ['"and" and "or"', 'const x = (a && b) || c;', ['const x = (a && b) && c;', 'const x = (a || b) || c;']],
    [
      'arithmetic, with its parentheses',
      'const x = a / (b + c);',
      ['const x = a * (b + c);', 'const x = a / (b - c);'],
    ],
    ['min and max', 'const x = Math.min(a, b);', ['const x = Math.max(a, b);']],
    ['a small number, by one', 'const x = 7;', ['const x = 8;']],
    ['a duration, to zero and to almost forever', 'const x = 30_000;', ['const x = 0;', 'const x = 30000000;']],
    ['a boolean', 'const x = { keepAlive: true };', ['const x = { keepAlive: false };']],
    ['an await', 'const x = await f;', ['const x = f;']],
    [
      'an option, together with its comma',
      'const x = new A({ b, c });',
      ['const x = new A({  c });', 'const x = new A({ b,  });'],
    ],
    ['a loop', 'while (a) ;', ['while (false) ;']],
  ])('change %s', (_, source, expected) => {
    expect(mutants(source).filter((mutant) => mutant !== ';')).toEqual(expected);
  });

  test('remove a statement that is only a call, an assignment or a throw', () => {
    expect(mutants('f();\na = b;\nthrow c;')).toEqual([';\na = b;\nthrow c;', 'f();\n;\nthrow c;', 'f();\na = b;\n;']);
  });

  test.each([
    ['a type', 'let x: 1 | true; type A = { b: 2 };'],
    ['an import', "import { a } from 'b';"],
    ['the text of a message', 'const x = `a` + b;'],
    ['a logged value', 'log.info({ a: 1 }, b + 1); this.#options.log.warn(c);'],
    ['a list of numbers', 'const x = [0.1, 0.5, 1];'],
    ['the name of a member', 'const x = { 200: a };'],
  ])('keep %s', (_, source) => {
    expect(mutants(source)).toEqual([]);
  });
});

test('a mutation is described by its line before and after, with white space collapsed', () => {
  const [mutation] = mutationsOf('\n  f(\n    a <  b,\n  );\n').filter(({ replacement }) => replacement === '<=');
  expect(mutation).toMatchObject({ line: 3, text: 'a < b, → a <= b,' });
});

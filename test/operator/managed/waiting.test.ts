import { expect, test, vi } from 'vitest';
import { Waiting } from '../../../src/operator/managed/waiting.ts';

/** @param waits by name: what each has, and what it wants */
function waiting(waits: Record<string, [has: string[], wants: string[]]>, gone: string[] = []) {
  const all = new Waiting();
  const woken: string[] = [];
  for (const [name, [has, wants]] of Object.entries(waits)) {
    all.set(name, { has, wants, isCurrent: () => !gone.includes(name), wake: () => woken.push(name) });
  }
  return { all, woken };
}

test.for<[string, Record<string, [string[], string[]]>, string[], string[][]]>([
  ['nobody', {}, [], []],
  ['one that waits for a stranger', { a: [['1'], ['9']] }, [], []],
  ['one that waits for another which waits for a stranger', { a: [['1'], ['2']], b: [['2'], ['9']] }, [], []],
  ['two that wait for each other', { a: [['1'], ['2']], b: [['2'], ['1']] }, [], [['1'], ['2']]],
  ['two, one of which declares something else by now', { a: [['1'], ['2']], b: [['2'], ['1']] }, ['b'], []],
  [
    'three in a circle, and one that waits beside them',
    { a: [['1'], ['2']], b: [['2'], ['3']], c: [['3'], ['1']], d: [['4'], ['2']] },
    [],
    [['1'], ['2'], ['3']],
  ],
  [
    'one that is not in the circle for which it waits',
    { a: [['1'], ['2']], b: [['2'], ['3']], c: [['3'], ['2']] },
    [],
    [],
  ],
  [
    'two that have and want more than that',
    {
      a: [
        ['0', '1'],
        ['2', '8'],
      ],
      b: [
        ['2', '7'],
        ['9', '1'],
      ],
    },
    [],
    [
      ['0', '1'],
      ['2', '7'],
    ],
  ],
  ['what lives inside another resource', { a: [['x/1'], ['2']], b: [['y/2'], ['1']] }, [], [['x/1'], ['y/2']]],
])('the circle of %s', ([, waits, gone, expected]) => {
  expect(
    waiting(waits, gone)
      .all.circleOf('a')
      .map(({ has }) => has),
  ).toEqual(expected);
});

test('those wake who wait for what has changed', () => {
  const { all, woken } = waiting({ a: [['1'], ['x/2']], b: [['2'], ['3']] });
  all.changed(['2']);
  expect(woken).toEqual(['a']);
  all.delete('a');
  all.changed(['2']);
  expect(woken).toEqual(['a']);
});

test('who declares something else by now is forgotten', () => {
  const all = new Waiting();
  const isCurrent = vi.fn(() => false);
  all.set('a', { has: ['1'], wants: ['1'], isCurrent, wake: () => {} });
  all.changed(['1']);
  all.changed(['1']);
  expect(isCurrent).toHaveBeenCalledOnce();
});

import { describe, expect, test } from 'vitest';
import { differences } from '../../../src/operator/plan/differences.ts';

const keyed = { 'spec.list': 'key' };

describe('differences', () => {
  test.for([
    ['equal values', { a: [1] }, { a: [1] }, []],
    ['a value', 1, 2, [['spec.list', 1, 2]]],
    ['a member', { a: 1, b: 2 }, { a: 1, b: 3 }, [['spec.list.b', 2, 3]]],
    ['a member that is new', { a: 1 }, { a: 1, b: 3 }, [['spec.list.b', undefined, 3]]],
    ['a member that is removed', { a: 1, b: 3 }, { a: 1 }, [['spec.list.b', 3, undefined]]],
    ['a new value with members', undefined, { a: { b: 1 } }, [['spec.list.a.b', undefined, 1]]],
    ['a new empty value', undefined, {}, [['spec.list', undefined, {}]]],
    ['another type', 'x', { a: 1 }, [['spec.list', 'x', { a: 1 }]]],
    ['null and an object', null, { a: 1 }, [['spec.list', null, { a: 1 }]]],
  ] as const)('of %s', ([, before, after, expected]) => {
    const found = differences('spec.list', before, after);
    expect(found).toEqual(expected.map(([path, old, now]) => ({ path, before: old, after: now })));
  });

  test('a list is compared as a whole, or by the key of its elements', () => {
    const [before, after] = [
      [{ key: 'a', x: 1 }, { key: 'b' }],
      [{ key: 'c' }, { key: 'a', x: 2 }],
    ];
    expect(differences('spec.list', before, after)).toEqual([{ path: 'spec.list', before, after }]);
    expect(differences('spec.list', before, after, keyed)).toEqual([
      { path: 'spec.list[a].x', before: 1, after: 2 },
      { path: 'spec.list[b].key', before: 'b', after: undefined },
      { path: 'spec.list[c].key', before: undefined, after: 'c' },
    ]);
  });
});

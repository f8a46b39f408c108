import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { isSame, MAX_PROBLEMS, refuseUnlessShown } from '../../../src/api/http/read-only-members.ts';

const TIME = '2026-11-21T10:00:00.900Z';

test.each<[string, unknown, unknown]>([
  ['itself', { a: [1, { b: 'x' }], c: null }, { c: null, a: [1, { b: 'x' }] }],
  ['a time with fewer digits', '2026-11-21T10:00:00.9Z', TIME],
  ['a time with more digits', '2026-11-21T10:00:00.900000+00:00', TIME],
  ['a time with another offset', '2026-11-21T11:00:00.900+01:00', TIME],
  ['nothing for null', undefined, null],
  ['"" for null', '', null],
  ['a member left out that is null', { a: 1 }, { a: 1, b: null }],
  ['a link with another host', { uri: 'https://b.example:8080/x/1' }, { uri: 'http://a/x/1' }],
  ['a link without a host', { uri: '/x/1' }, { uri: 'http://a/x/1' }],
  ['a member left out that is empty', { a: 1 }, { a: 1, b: [], c: false, d: 0, e: '' }],
])('%s is the same', (_, sent, shown) => {
  expect(isSame(sent, shown)).toBe(true);
});

test.each<[string, unknown, unknown]>([
  ['another text', 'a', 'b'],
  ['another case', 'A', 'a'],
  ['a link to something else', { uri: 'http://a/x/2' }, { uri: 'http://a/x/1' }],
  ['a link with a query', { uri: 'http://a/x/1?y' }, { uri: 'http://a/x/1' }],
  ['a link of another scheme', { uri: 'ftp://a/x/1' }, { uri: 'http://a/x/1' }],
  ['a relative link', { uri: 'x/1' }, { uri: 'x/2' }],
  ['a link that only ends alike', { uri: 'http://a/y/x/1' }, { uri: 'http://a/x/1' }],
  ['an address with another host that is no link', { url: 'http://b/x/1' }, { url: 'http://a/x/1' }],
  ['another time', '2026-11-21T10:00:00.901Z', TIME],
  ['a text that is no time', 'yesterday', TIME],
  ['null for a value', null, 'a'],
  ['"" for a value', '', 'a'],
  ['null for an empty list', null, []],
  ['a number as text', '1', 1],
  ['0 for false', 0, false],
  ['a member more', { a: 1, b: 2 }, { a: 1 }],
  ['a member less', { a: 1 }, { a: 1, b: 2 }],
  ['a longer list', [1, 2], [1]],
  ['a longer list of nothing', [1, null], [1]],
  ['another order', [2, 1], [1, 2]],
  ['an object for a list', { 0: 1 }, [1]],
  ['an inherited member', {}, { toString: 'x' }],
])('%s is not the same', (_, sent, shown) => {
  expect(isSame(sent, shown)).toBe(false);
});

const FIXED = { reason: 'cannot be changed' };

/** What is refused of these members, by where they were sent, or that they are taken. */
function refused(
  sent: readonly (readonly [path: readonly PropertyKey[], value: unknown])[],
  before: unknown,
  after = before,
) {
  try {
    refuseUnlessShown(
      sent.map(([path, value]) => ({ path, at: ['sent', ...path], value, ...FIXED })),
      before,
      after,
    );
  } catch (error) {
    if (error instanceof ApiError) return Object.keys(error.details);
    throw error;
  }
  return 'taken';
}

describe('a member that was sent back', () => {
  test('is taken as it is shown, and else refused where it was sent', () => {
    const shown = { id: 'x_1', uri: 'https://a/x/1', kind: null };
    expect(
      refused(
        [
          [['id'], 'x_1'],
          [['uri'], 'http://b/x/1'],
          [['kind'], ''],
        ],
        shown,
      ),
    ).toBe('taken');
    expect(refused([[['id'], 'x_2']], shown)).toEqual(['/sent/id']);
    expect(
      refused(
        [
          [['uri'], '/x/2'],
          [['kind'], 'a'],
          [['id'], 'x_1'],
        ],
        shown,
      ),
    ).toEqual(['/sent/uri', '/sent/kind']);
  });

  test('is not taken as it will be shown, or as nothing where there is something', () => {
    expect(refused([[['kind'], 'b']], { kind: 'a' }, { kind: 'b' })).toEqual(['/sent/kind']);
    expect(refused([[['kind'], '']], { kind: 'a' })).toEqual(['/sent/kind']);
  });

  test(`is one of ${MAX_PROBLEMS} problems at most, the first ones`, () => {
    const names = Array.from({ length: 52 }, (_, n) => `k${n}`);
    expect(MAX_PROBLEMS).toBe(50);
    expect(
      refused(
        names.map((name) => [[name], 1]),
        {},
      ),
    ).toEqual(names.slice(0, 50).map((name) => `/sent/${name}`));
  });
});

describe('a member that was sent back inside an element of a list', () => {
  const [first, second] = [
    { id: 'r_1', uri: 'https://a/r/1', at: 'monday', note: null },
    { id: 'r_2', uri: 'https://a/r/2', at: 'friday', note: null },
  ];
  const before = { rules: [first, second], others: [{ id: 'o_1', at: 'sunday' }] };
  /** The members of an element as they were sent, in this order. */
  const element = (list: string, index: number, members: object) =>
    Object.entries(members).map(([name, value]) => [[list, index, name], value] as const);

  test.each<[string, object]>([
    ['the same element', first],
    ['another element, as a whole', second],
    ['another element, named by its link alone', { uri: 'http://b/r/2', at: 'friday' }],
    ['another element, named and nothing else', { uri: 'http://b/r/2' }],
    ['another element, whose name comes last', { at: 'friday', note: '', id: 'r_2' }],
    ['nothing', { id: '', at: null }],
  ])('is taken as %s shows it', (_, members) => {
    expect(refused(element('rules', 0, members), before)).toBe('taken');
  });

  test.each<[string, object, string[]]>([
    ['mixed from two elements', { id: 'r_2', at: 'monday', note: 'x' }, ['id', 'note']],
    ['without the name of the element', { at: 'friday' }, ['at']],
    ['under the name of another member', { at: 'r_2' }, ['at']],
    ['of no element', { id: 'r_3', note: null }, ['id']],
    ['of another list', { id: 'o_1', at: 'sunday' }, ['id', 'at']],
  ])('is refused %s', (_, members, names) => {
    expect(refused(element('rules', 0, members), before)).toEqual(names.map((name) => `/sent/rules/0/${name}`));
  });

  test('is taken as the new element will show it', () => {
    const after = { rules: [{ id: 'r_3', uri: 'https://a/r/3', at: 'today' }] };
    const sent = element('rules', 0, { id: 'r_3', uri: 'http://b/r/3', at: 'today' });
    expect(refused(sent, before, after)).toBe('taken');
    expect(refused(sent, before)).toHaveLength(3);
  });
});

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
  ['an address that is no link, with another host', { url: 'http://b/x/1' }, { url: 'http://a/x/1' }],
  ['another time', '2026-11-21T10:00:00.901Z', TIME],
  ['a text that is no time', 'yesterday', TIME],
  ['null for a value', null, 'a'],
  ['"" for a value', '', 'a'],
  ['null for an empty list', null, []],
  ['a number as text', '1', 1],
  ['0 for false', 0, false],
  ['an extra member', { a: 1, b: 2 }, { a: 1 }],
  ['a missing member', { a: 1 }, { a: 1, b: 2 }],
  ['a longer list', [1, 2], [1]],
  ['a list with an extra null', [1, null], [1]],
  ['another order', [2, 1], [1, 2]],
  ['an object for a list', { 0: 1 }, [1]],
  ['an inherited member', {}, { toString: 'x' }],
])('%s is not the same', (_, sent, shown) => {
  expect(isSame(sent, shown)).toBe(false);
});

const FIXED = { reason: 'cannot be changed' };

/** Where the refused members were sent, or `taken` if none is refused. */
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
  test('is accepted if it equals what is shown, and otherwise refused at the place where it was sent', () => {
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

  test('is refused if it equals only the new value, or is empty although there is a value', () => {
    expect(refused([[['kind'], 'b']], { kind: 'a' }, { kind: 'b' })).toEqual(['/sent/kind']);
    expect(refused([[['kind'], '']], { kind: 'a' })).toEqual(['/sent/kind']);
  });

  test(`is reported if it is among the first ${MAX_PROBLEMS} problems`, () => {
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
    ['another element, sent as a whole', second],
    ['another element, with its link but not its id', { uri: 'http://b/r/2', at: 'friday' }],
    ['another element, of which only the link is sent', { uri: 'http://b/r/2' }],
    ['another element, whose id comes last', { at: 'friday', note: '', id: 'r_2' }],
    ['no element, if empty', { id: '', at: null }],
  ])('is accepted from %s', (_, members) => {
    expect(refused(element('rules', 0, members), before)).toBe('taken');
  });

  test.each<[string, object, string[]]>([
    ['mixed from two elements', { id: 'r_2', at: 'monday', note: 'x' }, ['id', 'note']],
    ['sent without the id and link of its element', { at: 'friday' }, ['at']],
    ['it is the id of an element under another name', { at: 'r_2' }, ['at']],
    ['taken from no element', { id: 'r_3', note: null }, ['id']],
    ['taken from another list', { id: 'o_1', at: 'sunday' }, ['id', 'at']],
  ])('is refused if %s', (_, members, names) => {
    expect(refused(element('rules', 0, members), before)).toEqual(names.map((name) => `/sent/rules/0/${name}`));
  });

  test('is accepted as the new element will show it', () => {
    const after = { rules: [{ id: 'r_3', uri: 'https://a/r/3', at: 'today' }] };
    const sent = element('rules', 0, { id: 'r_3', uri: 'http://b/r/3', at: 'today' });
    expect(refused(sent, before, after)).toBe('taken');
    expect(refused(sent, before)).toHaveLength(3);
  });
});

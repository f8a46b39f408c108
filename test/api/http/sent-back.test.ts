import { expect, test } from 'vitest';
import { isSame } from '../../../src/api/http/sent-back.ts';

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

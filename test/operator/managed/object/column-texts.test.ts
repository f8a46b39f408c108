import { expect, test } from 'vitest';
import { columnTexts, listText } from '../../../../src/operator/managed/object/column-texts.ts';
import { object } from '../../objects.ts';

test.each([
  ['texts', ['a.example:443', 'b.example:443'], 'a.example:443, b.example:443'],
  ['references, by name or id', [{ name: 'office', namespace: 'x' }, { id: 'ipp_1' }], 'office, ipp_1'],
  ['event types', [{ type: 'user_created.v0' }], 'user_created.v0'],
  ['a map', { app: 'shop', tier: 'web' }, 'app=shop, tier=web'],
  ['the first of many', ['a', 'b', 'c', 'd', 'e'], 'a, b, c, +2'],
  ['a long text, clipped', ['x'.repeat(100)], `${'x'.repeat(63)}…`],
  ['nothing of an empty list', [], undefined],
  ['nothing for a missing value', undefined, undefined],
  ['nothing of anything else', 7, undefined],
])('a column shows %s', (_, value, expected) => {
  expect(listText(value)).toBe(expected);
});

const column = { name: 'X', type: 'string', jsonPath: '.x', description: '' } as const;
const lists = (place: 'spec' | 'status', member: string) => ({ ...column, lists: { in: place, member } });

test('the status has the texts of the columns that show lists', () => {
  const of = object({ spec: { hostports: ['a:1'] } });
  const columns = [column, lists('spec', 'hostports'), lists('status', 'modules'), lists('spec', 'others')];
  expect(columnTexts(columns, of, { modules: ['oidc'] })).toEqual({ columns: { hostports: 'a:1', modules: 'oidc' } });
  expect(columnTexts([column], of, {})).toEqual({});
  expect(columnTexts([lists('spec', 'others')], of, {})).toEqual({ columns: undefined });
});

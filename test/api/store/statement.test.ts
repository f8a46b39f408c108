/** How values are read, without a database. */
import pg from 'pg';
import { expect, test } from 'vitest';
import { parserOf, StatementRun } from '../../../src/api/store/statement.ts';

const { TEXT, INT4, INT8, BOOL, TIMESTAMPTZ } = pg.types.builtins;

test.each([
  ['text', TEXT, 'x', 'x'],
  ['empty text', TEXT, '', ''],
  ['a boolean', BOOL, 't', true],
  ['a number', INT4, '7', 7],
  ['a large number', INT8, '4294967296', 4_294_967_296],
  ['a time', TIMESTAMPTZ, '2026-11-21 10:40:00+00', '2026-11-21T10:40:00.000Z'],
  ['a time with a tenth', TIMESTAMPTZ, '2026-11-21 10:40:00.9+00', '2026-11-21T10:40:00.900Z'],
  ['a time with hundredths', TIMESTAMPTZ, '2026-11-21 10:40:00.98+00', '2026-11-21T10:40:00.980Z'],
  ['a time with microseconds', TIMESTAMPTZ, '2026-11-21 10:40:00.987654+00', '2026-11-21T10:40:00.987Z'],
  ['a time in another zone', TIMESTAMPTZ, '2026-11-21 10:40:00+02', '2026-11-21T08:40:00.000Z'],
])('a value is parsed to what the API shows: %s', (_, oid, value, shown) => {
  expect(parserOf(oid)(value)).toBe(shown);
});

test('rows are dropped if `keeps` refuses their size', () => {
  const sizes: number[] = [];
  const keeps = (bytes: number) => {
    sizes.push(bytes);
    return bytes < 3;
  };
  const run = new StatementRun({ text: 'select', values: [], keeps });
  const kept: unknown[] = [];
  run.on('row', (row) => kept.push(row));
  for (const length of [1, 4, 2]) run.handleDataRow({ length, fields: [] });
  expect(sizes).toEqual([1, 4, 2]);
  expect(kept).toHaveLength(2);
});

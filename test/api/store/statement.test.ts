/** How rows are read, without a database. */
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { type Shapes, type Statement, StatementRun } from '../../../src/api/store/statement.ts';

const { TEXT, INT4, INT8, BOOL, TIMESTAMPTZ } = pg.types.builtins;
const ID = { name: 'id', dataTypeID: TEXT };
const COUNT = { name: 'count', dataTypeID: INT4 };

type Columns = Parameters<StatementRun['handleRowDescription']>[0]['fields'];

/** A run of a statement that returns these rows, told as pg tells them. */
function ran(
  columns: Columns,
  rows: (string | null)[][],
  { shapes = new Map(), ...statement }: Partial<Statement> & { shapes?: Shapes } = {},
): StatementRun {
  const run = new StatementRun({ text: 'select', values: [], ...statement }, shapes);
  run.handleRowDescription({ fields: columns });
  for (const fields of rows) run.handleDataRow({ fields, length: fields.join('').length });
  return run;
}

describe('a value', () => {
  test.each([
    ['text', TEXT, 'x', 'x'],
    ['nothing', TEXT, null, null],
    ['empty text', TEXT, '', ''],
    ['a truth', BOOL, 't', true],
    ['a number', INT4, '7', 7],
    ['a large number', INT8, '4294967296', 4_294_967_296],
    ['a time', TIMESTAMPTZ, '2026-11-21 10:40:00+00', '2026-11-21T10:40:00.000Z'],
    ['a time with a tenth', TIMESTAMPTZ, '2026-11-21 10:40:00.9+00', '2026-11-21T10:40:00.900Z'],
    ['a time with hundredths', TIMESTAMPTZ, '2026-11-21 10:40:00.98+00', '2026-11-21T10:40:00.980Z'],
    ['a time with microseconds', TIMESTAMPTZ, '2026-11-21 10:40:00.987654+00', '2026-11-21T10:40:00.987Z'],
    ['a time of another zone', TIMESTAMPTZ, '2026-11-21 10:40:00+02', '2026-11-21T08:40:00.000Z'],
  ])('is shown as the API shows it: %s', (_, dataTypeID, value, shown) => {
    expect(ran([{ name: 'x', dataTypeID }], [[value]]).found).toEqual([{ x: shown }]);
  });

  test('that cannot be read is told with the statement, and only the first', () => {
    const column = { name: 'at', dataTypeID: TIMESTAMPTZ };
    const values = [['infinity'], ['2026-11-21 10:40:00+00'], ['-infinity']];
    const run = ran([column], values, { name: 'list_things' });
    expect(run.found).toHaveLength(1);
    const { unreadable } = run;
    expect(unreadable?.message).toContain('list_things');
    expect(unreadable?.cause).toBeInstanceOf(RangeError);
    run.handleDataRow({ fields: ['infinity'], length: 8 });
    expect(run.unreadable).toBe(unreadable);
    expect(ran([column], values, { text: 'select at' }).unreadable?.message).toContain('select at');
    expect(ran([column], [['2026-11-21 10:40:00+00']]).unreadable).toBeUndefined();
  });
});

test('a row has every column', () => {
  const rows = [
    ['a', '1'],
    ['b', null],
  ];
  expect(ran([ID, COUNT], rows).found).toEqual([
    { id: 'a', count: 1 },
    { id: 'b', count: null },
  ]);
});

test('rows that are not to be kept are let go, by their sizes', () => {
  const sizes: number[] = [];
  const keeps = (bytes: number) => {
    sizes.push(bytes);
    return bytes < 3;
  };
  expect(ran([ID], [['a'], ['long'], ['b']], { keeps }).found).toEqual([{ id: 'a' }, { id: 'b' }]);
  expect(sizes).toEqual([1, 4, 1]);
});

test.each<[string, Columns, string[], object]>([
  ['the same', [ID, COUNT], ['a', '1'], { id: 'a', count: 1 }],
  ['one more', [ID, COUNT, { name: 'more', dataTypeID: TEXT }], ['a', '1', 'x'], { id: 'a', count: 1, more: 'x' }],
  ['one less', [ID], ['a'], { id: 'a' }],
  ['another name', [ID, { ...COUNT, name: 'size' }], ['a', '1'], { id: 'a', size: 1 }],
  ['another name for the first', [{ ...ID, name: 'key' }, COUNT], ['a', '1'], { key: 'a', count: 1 }],
  ['another type', [ID, { ...COUNT, dataTypeID: TEXT }], ['a', '1'], { id: 'a', count: '1' }],
])(
  'a statement that has returned other columns before is read by those that it returns now: %s',
  (_, columns, row, read) => {
    const shapes: Shapes = new Map();
    const known = { name: 'find', shapes };
    expect(ran([ID, COUNT], [['z', '9']], known).found).toEqual([{ id: 'z', count: 9 }]);
    expect(ran(columns, [row], known).found).toEqual([read]);
  },
);

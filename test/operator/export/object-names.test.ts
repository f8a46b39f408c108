import { describe, expect, test } from 'vitest';
import { objectNames, wantedName } from '../../../src/operator/export/object-names.ts';

const ID = 'rd_01m81401erfqeac94c037gzxd2';

describe('the name that a resource asks for', () => {
  test.for([
    [{ domain: 'app.example.com', description: 'shop' }, 'app-example-com'],
    [{ domain: '*.example.com' }, 'any-example-com'],
    [{ name: 'Bot 7', description: 'x' }, 'bot-7'],
    [{ subject_common_name: null, description: 'Büro, Berlin!' }, 'buro-berlin'],
    [{ description: '--- ' }, 'rd-01m81401erfqeac94c037gzxd2'],
    [{ description: '東京' }, 'rd-01m81401erfqeac94c037gzxd2'],
    [{ description: '' }, 'rd-01m81401erfqeac94c037gzxd2'],
    [{ description: `${'a'.repeat(49)} b` }, 'a'.repeat(49)],
    [{ id: 'edghts_01x/edghtsrt_01y' }, 'edghts-01x-edghtsrt-01y'],
  ] as const)('of %j is %s', ([resource, name]) => {
    expect(wantedName({ id: ID, ...resource })).toBe(name);
  });
});

test('the oldest keeps its name when others ask for the same', () => {
  const resources = ['x_000001', 'x_000002'].map((id) => ({ id, description: 'same' }));
  const expected = [
    ['x_000001', 'same'],
    ['x_000002', 'same-000002'],
  ];
  expect([...objectNames(resources, new Set())]).toEqual(expected);
  const taken = new Set(['same-000002']);
  expect([...objectNames(resources, taken)].map(([, name]) => name)).toEqual(['same', 'x-000002']);
  expect(taken).toEqual(new Set(['same', 'same-000002', 'x-000002']));
});

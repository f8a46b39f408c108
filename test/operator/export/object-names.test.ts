import { describe, expect, test } from 'vitest';
import { namesOf, objectNames, wantedName } from '../../../src/operator/export/object-names.ts';

const ID = 'rd_01m81401erfqeac94c037gzxd2';

describe('the wanted name', () => {
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

test('the oldest resource keeps its name when others want the same', () => {
  const resources = ['x_000001', 'x_000002'].map((id) => ({ id, description: 'same' }));
  const expected = [
    ['x_000001', 'same'],
    ['x_000002', 'same-000002'],
  ];
  expect([...objectNames(resources)]).toEqual(expected);
  const third = { id: 'x_000000', description: 'same-000002' };
  expect([...objectNames([third, ...resources])].map(([, name]) => name)).toEqual(['same-000002', 'same', 'x-000002']);
});

test('a name is unique among all kinds that write Secrets, and the oldest of their resources gets it', () => {
  const named = (id: string) => ({ id, description: 'ci' });
  const found = [
    { kind: { kind: 'TunnelCredential', delivery: {} }, resources: [named('cr_000002')] },
    { kind: { kind: 'IPPolicy' }, resources: [named('ipp_000003')] },
    { kind: { kind: 'APIKey', delivery: {} }, resources: [named('ak_000001')] },
  ];
  expect(Object.fromEntries(namesOf(found))).toEqual({
    cr_000002: { kind: 'TunnelCredential', name: 'ci-000002' },
    ipp_000003: { kind: 'IPPolicy', name: 'ci' },
    ak_000001: { kind: 'APIKey', name: 'ci' },
  });
});

/** The screens in docs/kinds: the same text in every run. */
import { describe, expect, test } from 'vitest';
import { failing } from '../../../dev/screens/failing.ts';
import { stabilizer } from '../../../dev/screens/stable.ts';

const [A, B] = ['ipp_01m81400rsfqeac8xv44xwa3a9', 'ipp_01m81401cmfqeac93vxsm80mh1'];
const [ONE, TWO] = ['ipp_01j00000000000000000000001', 'ipp_01j00000000000000000000002'];

describe('what differs from run to run', () => {
  test.each([
    ['ids, each by its place', `${A} ${B} ${A}`, `${ONE} ${TWO} ${ONE}`],
    ['ids in names', `${A?.slice(4)}.cname.example`, `${ONE.slice(4)}.cname.example`],
    ['UIDs', 'UID:  0a7e3f2c-1111-4222-8333-abcdefabcdef', 'UID:  00000000-0000-4000-8000-000000000001'],
    ['times', 'Renews At:  2027-01-02T03:04:05.678Z', 'Renews At:  2026-11-21T10:00:00Z'],
    [
      'the age in the last column',
      'office   True   12s\npartners   True   3m7s',
      'office   True   1m\npartners   True   1m',
    ],
    [
      'the age of an Event',
      '  Warning  Rejected  3s (x2 over 15s)  tunnel-operator  x',
      '  Warning  Rejected  1m    tunnel-operator  x',
    ],
    ['versions', 'Resource Version:  4711', 'Resource Version:  1'],
    ['digests', 'Digest:            abcdefghijklmnopqrstuv', 'Digest:            0000000000000000000001'],
    ['where the API is', 'Uri:  http://127.0.0.1:41234/ip_policies', 'Uri:  https://api.example.com/ip_policies'],
    ['keys', `ssh-ed25519 ${'A'.repeat(68)} web`, 'ssh-ed25519 … web'],
  ])('is replaced: %s', (_, shown, expected) => {
    expect(stabilizer()(shown)).toBe(expected);
  });

  test.each(['Defaults to 10m, or half the interval.', 'Interval:  720h', 'office   True   3   Available'])(
    'and the rest stays: %s',
    (shown) => {
      expect(stabilizer()(shown)).toBe(shown);
    },
  );
});

test('an object that refers to something fails for lack of that, and any other for what it is to adopt', () => {
  const object = (spec: object) => ({ apiVersion: 'v', kind: 'K', metadata: { name: 'n' }, spec });
  const adopt = { annotation: 'adopt', id: 'x_1' };
  const key = { secretKeyRef: { name: 's', key: 'k' } };
  expect(failing(object({ aRefs: [{ name: 'a' }], text: key, b: 1 }), adopt)).toEqual({
    ...object({ aRefs: [{ name: 'missing' }], text: { secretKeyRef: { name: 'missing', key: 'k' } }, b: 1 }),
    metadata: { name: 'broken', annotations: {} },
  });
  expect(failing(object({ b: { name: 'a' } }), adopt)).toEqual({
    ...object({ b: { name: 'a' } }),
    metadata: { name: 'broken', annotations: { adopt: 'x_1' } },
  });
});

import { expect, test } from 'vitest';
import { notPermitted, permits } from '../../../../src/operator/managed/knowledge/reference-grants.ts';
import { object } from '../../objects.ts';

const grant = (from: object, to: object, namespace = 'there') =>
  object({
    metadata: { namespace },
    spec: {
      from: [{ group: 'tunnel-operator.dev', kind: 'TLSEdge', namespace: 'here', ...from }],
      to: [
        { group: '', kind: 'Secret' },
        { group: 'tunnel-operator.dev', kind: 'IPPolicy', ...to },
      ],
    },
  });
const crossing = {
  from: { kind: 'TLSEdge', namespace: 'here' },
  to: { kind: 'IPPolicy', namespace: 'there', name: 'office' },
};

test.each([
  ['for the kinds', grant({}, {}), true],
  ['for the name', grant({}, { name: 'office' }), true],
  ['for an empty name', grant({}, { name: '' }), true],
  ['for another name', grant({}, { name: 'home' }), false],
  ['in the namespace of the referrer', grant({}, {}, 'here'), false],
  ['from another namespace', grant({ namespace: 'elsewhere' }, {}), false],
  ['from another kind', grant({ kind: 'HTTPSEdge' }, {}), false],
  ['from another group', grant({ group: 'example.com' }, {}), false],
  ['to another group', grant({}, { group: '' }), false],
  ['without a spec', { ...grant({}, {}), spec: undefined }, false],
])('a ReferenceGrant %s permits a reference: %s', (_, given, expected) => {
  expect(permits(given, crossing)).toBe(expected);
});

test('the message shows a missing grant as in a manifest, unless it may exist', () => {
  const start = 'no ReferenceGrant in namespace there';
  const named = 'references from TLSEdge in namespace here to IPPolicy office';
  const spec =
    'spec: {from: [{group: tunnel-operator.dev, kind: TLSEdge, namespace: here}], to: [{group: tunnel-operator.dev, kind: IPPolicy, name: office}]}';
  expect(notPermitted(crossing, undefined)).toBe(`${start} permits ${named}: have one created there, with ${spec}`);
  expect(notPermitted(crossing, 'not listed yet')).toBe(`${start} is known to permit ${named}: not listed yet`);
});

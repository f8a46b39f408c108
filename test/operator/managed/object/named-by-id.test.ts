import { expect, test } from 'vitest';
import { Blocked } from '../../../../src/operator/managed/declaration/external.ts';
import { mustNameNoIds, namedById } from '../../../../src/operator/managed/object/permissions.ts';
import { object } from '../../objects.ts';

test.for<[string, unknown, Record<string, string>]>([
  ['nothing', undefined, {}],
  ['names alone', { edgeRef: { name: 'shop' }, ipPolicyRefs: [{ name: 'office' }] }, {}],
  ['a reference', { edgeRef: { id: 'edghts_1' } }, { 'spec.edgeRef.id': 'edghts_1' }],
  ['one of a list', { ipPolicyRefs: [{ name: 'office' }, { id: 'ipp_1' }] }, { 'spec.ipPolicyRefs[1].id': 'ipp_1' }],
  [
    'one inside a module',
    { backend: { backendRef: { kind: 'X', id: 'bkdhr_1' } } },
    { 'spec.backend.backendRef.id': 'bkdhr_1' },
  ],
  ['an owner', { ownerId: 'usr_1' }, { 'spec.ownerId': 'usr_1' }],
  ['a text that comes from elsewhere', { body: { secretKeyRef: { name: 'id', key: 'id' } } }, {}],
  ['an id that is no reference', { labels: { id: 'x', ownerId: 'y' }, clientId: { value: 'z' } }, {}],
])('%s', ([, spec, expected]) => {
  expect(Object.fromEntries(namedById(spec).map(({ path, id }) => [path, id]))).toEqual(expected);
});

test('where nothing may be named by its id, the members that do are told', () => {
  expect(() => mustNameNoIds(object({ spec: { edgeRef: { name: 'shop' } } }))).not.toThrow();
  expect(() => mustNameNoIds(object({ spec: { edgeRef: { id: 'edghts_1' } } }))).toThrow(Blocked);
  const both = object({ spec: { edgeRef: { id: 'edghts_1' }, ownerId: 'usr_1' } });
  expect(() => mustNameNoIds(both)).toThrow('in place of spec.edgeRef.id, spec.ownerId, or have');
});

/** What `kubectl apply` makes of an object. */
import { describe, expect, test } from 'vitest';
import { LAST_APPLIED } from '../../../src/operator/kube/kube-object.ts';
import { appliedBefore, applyPatch, NEVER_APPLIED, patched } from '../../../src/operator/plan/kubectl-apply.ts';

const metadata = { name: 'x', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const before = (members: object) => ({ ...NEVER_APPLIED, members: { ...members } });
const entry = (manager: string, operation: string, fieldsV1: object, more = {}) => ({
  manager,
  operation,
  fieldsV1,
  ...more,
});

describe('the patch', () => {
  test.each([
    ['sets the members of the file', { a: 1, b: [2] }, {}, { a: 1, b: [2] }],
    ['removes members applied before that have left the file', { a: 1 }, { a: 0, b: 2 }, { a: 1, b: null }],
    ['descends into members', { m: { a: 1 } }, { m: { b: 2, c: { d: 3 } } }, { m: { a: 1, b: null, c: null } }],
    ['treats null as absent', { a: null, b: null }, { a: 1 }, { a: null }],
    [
      'replaces lists, and values of another type',
      { l: [1], m: { a: 1 } },
      { l: [1, 2], m: 5 },
      { l: [1], m: { a: 1 } },
    ],
    [
      'removes members named like inherited properties',
      {},
      JSON.parse('{"constructor": 1, "__proto__": 2}'),
      { constructor: null, ['__proto__']: null },
    ],
  ])('%s', (_, file, applied, expected) => {
    expect(applyPatch(file, before(applied))).toEqual(expected);
  });

  test('leaves members that it does not name, and removes those that are null', () => {
    expect(patched({ a: 1, m: { x: 1, y: 2 }, n: 1 }, { m: { y: null, z: { deep: null } }, n: { p: 1 } })).toEqual({
      a: 1,
      m: { x: 1, z: {} },
      n: { p: 1 },
    });
  });
});

describe('the members applied before', () => {
  test.each([
    ['are in the annotation of kubectl', { annotations: { [LAST_APPLIED]: '{"spec":{"a":1}}' } }, { spec: { a: 1 } }],
    ['are none if the annotation is not valid JSON', { annotations: { [LAST_APPLIED]: '{' } }, {}],
    ['are none if the object was never applied', { managedFields: [entry('x', 'Update', { 'f:spec': {} })] }, {}],
    [
      'are in the managed fields of a server-side apply, with kubectl before others',
      {
        managedFields: [
          entry('flux', 'Apply', { 'f:metadata': {} }),
          entry('kubectl', 'Apply', { 'f:spec': { '.': {}, 'f:rules': { 'k:{"cidr":"x"}': {} } } }),
          entry('status', 'Apply', { 'f:status': {} }, { subresource: 'status' }),
        ],
      },
      { spec: { rules: {} } },
    ],
  ])('%s', (_, more, expected) => {
    expect(appliedBefore({ metadata: { ...metadata, ...more } }).members).toEqual(expected);
  });

  test('on the server come with the field manager, and with the members that others own', () => {
    const managedFields = [
      entry('edit', 'Update', { 'f:spec': { 'f:a': {} } }),
      entry('flux', 'Apply', { 'f:spec': { 'f:a': {}, 'f:b': {} } }),
    ];
    expect(appliedBefore({ metadata: { ...metadata, managedFields } })).toEqual({
      members: { spec: { a: {}, b: {} } },
      owned: [{ spec: { a: {} } }],
      manager: 'flux',
    });
  });
});

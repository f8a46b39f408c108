import { expect, test } from 'vitest';
import { tlsEdgeModulesKind } from '../../../src/operator/kinds/tls-edge-modules.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { readSpec } from '../../../src/operator/managed/spec.ts';
import { Rivals } from '../../../src/operator/plan/rivals.ts';
import { object } from '../objects.ts';

const [ID, OTHER] = ['edgtls_01m7yvm3eyf20vnt1006h45zq2', 'edgtls_01m7yvm3eyf20vnt1006h45zq3'];
const scope = async () => ({ resources: [], nextSequence: 1 });
const refersTo = (tlsEdgeRef: object) => ({ spec: { tlsEdgeRef } });
const old = (fields: Partial<KubeObject>) =>
  object({ name: 'old', created: '2026-11-21T09:00:00Z', ...fields }, { externalId: ID });

test.each<[string, KubeObject, object, boolean]>([
  ['by the same name', old(refersTo({ name: 'edge' })), { name: 'edge' }, true],
  ['by another name', old(refersTo({ name: 'gone' })), { name: 'edge' }, false],
  [
    'by another name, and has its modules',
    old({ ...refersTo({ name: 'gone' }), status: { id: ID, createGeneration: 0 } }),
    { name: 'edge' },
    true,
  ],
  ['by its id', old(refersTo({ id: ID })), { name: 'edge' }, true],
  ['by the id of another', old(refersTo({ id: OTHER })), { name: 'edge' }, false],
  ['by some name', old(refersTo({ name: 'edge' })), { id: ID }, true],
])(
  'modules are claimed by an older object that names their owner, and refers to it %s',
  async (_, other, tlsEdgeRef, isRival) => {
    const rivals = new Rivals({ existing: async () => [other], mayAdopt: () => true });
    const planned = object({ name: 'young', uid: '', ...refersTo(tlsEdgeRef) });
    const spec = { ...readSpec(tlsEdgeModulesKind.spec, planned), tlsEdgeRef: ID };
    const asked = rivals.mustHaveNone(tlsEdgeModulesKind, { scope }, planned, spec);
    await (isRival ? expect(asked).rejects.toThrow('ns/old') : expect(asked).resolves.toBeUndefined());
  },
);

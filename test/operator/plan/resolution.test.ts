/** What a spec takes from elsewhere: from files and cluster, as they will be. */
import { describe, expect, test } from 'vitest';
import type { DerivedKind } from '../../../src/operator/export/spec-members.ts';
import { httpsEdgeRouteModulesKind } from '../../../src/operator/kinds/https-edge-route-modules.ts';
import { attachedKinds, kinds } from '../../../src/operator/kinds/kinds.ts';
import { tlsEdgeModulesKind } from '../../../src/operator/kinds/tls-edge-modules.ts';
import type { ResourceType } from '../../../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { readSpec } from '../../../src/operator/managed/declaration/spec.ts';
import { DeclaredObjects } from '../../../src/operator/plan/declared-objects.ts';
import { DesiredCluster } from '../../../src/operator/plan/desired-cluster.ts';
import type { Planned } from '../../../src/operator/plan/planned.ts';
import { Resolution } from '../../../src/operator/plan/resolution.ts';
import { object } from '../objects.ts';

const ALL: readonly DerivedKind[] = [...kinds, ...attachedKinds];

interface Surroundings {
  /** By the plurals of their kinds. */
  readonly objects?: Readonly<Record<string, readonly KubeObject[]>>;
  /** The plan of the TLSEdge `edge`, which only then is in the files. */
  readonly plan?: Pick<Planned, 'action' | 'id'>;
  readonly known?: readonly DerivedKind[];
}

async function resolved(kind: DerivedKind, spec: object, { objects = {}, plan, known = ALL }: Surroundings) {
  const asked: string[] = [];
  const itemsOf = ({ plural }: ResourceType) => {
    asked.push(plural);
    return [...(objects[plural] ?? [])];
  };
  const kube = {
    find: async (type: ResourceType, name: string, namespace?: string) =>
      itemsOf(type).find(({ metadata }) => metadata.name === name && metadata.namespace === namespace),
    list: async (type: ResourceType) => ({ items: itemsOf(type), resourceVersion: '1', continueToken: undefined }),
  };
  const edge = { apiVersion: 'tunnel-operator.dev/v1alpha1', kind: 'TLSEdge', metadata: { name: 'edge' } };
  const declared = new DeclaredObjects(plan ? [{ document: edge, place: '1' }] : [], 'ns');
  const resolution = new Resolution({
    kinds: new Map(known.map((each) => [each.kind, each])),
    declared,
    cluster: new DesiredCluster(kube, declared),
    planOf: (name) => plan && Promise.resolve({ ...name, ...plan, changes: [] }),
  });
  const planned = object({ kind: kind.kind, spec });
  return { ...(await resolution.resolve(kind, planned, readSpec(kind.spec, planned))), asked };
}

const having = (name: string, id: string, namespace = 'ns') =>
  object({ name, uid: `${namespace}/${name}`, metadata: { namespace }, status: { id } });

describe('references', () => {
  const toEdge = { tlsEdgeRef: { name: 'edge' } };

  test('are to the ids that the objects show', async () => {
    const ipPolicyRefs = [{ name: 'a' }, { name: 'b' }];
    const { spec, declared, targets, asked } = await resolved(
      tlsEdgeModulesKind,
      { ...toEdge, ipRestriction: { ipPolicyRefs } },
      { objects: { tlsedges: [having('edge', 'edgtls_1')], ippolicies: [having('a', 'ipp_1'), having('b', 'ipp_2')] } },
    );
    expect(spec).toMatchObject({ tlsEdgeRef: 'edgtls_1', ipRestriction: { ipPolicyRefs: ['ipp_1', 'ipp_2'] } });
    expect(declared).toMatchObject({ tlsEdgeRef: { name: 'edge' } });
    expect([...targets]).toEqual([
      ['edgtls_1', { kind: 'TLSEdge', namespace: 'ns', name: 'edge' }],
      ['ipp_1', { kind: 'IPPolicy', namespace: 'ns', name: 'a' }],
      ['ipp_2', { kind: 'IPPolicy', namespace: 'ns', name: 'b' }],
    ]);
    expect(asked).toEqual(['tlsedges', 'ippolicies', 'ippolicies']);
  });

  test('into another namespace need a grant there', async () => {
    const spec = { ...toEdge, ipRestriction: { ipPolicyRefs: [{ name: 'a', namespace: 'shared' }] } };
    const grant = object({
      name: 'grant',
      metadata: { namespace: 'shared' },
      spec: {
        from: [{ group: 'tunnel-operator.dev', kind: 'TLSEdgeModules', namespace: 'ns' }],
        to: [{ group: 'tunnel-operator.dev', kind: 'IPPolicy' }],
      },
    });
    const objects = { tlsedges: [having('edge', 'edgtls_1')], ippolicies: [having('a', 'ipp_1', 'shared')] };
    const granted = await resolved(tlsEdgeModulesKind, spec, { objects: { ...objects, referencegrants: [grant] } });
    expect(granted.spec).toMatchObject({ ipRestriction: { ipPolicyRefs: ['ipp_1'] } });
    expect(granted.targets.get('ipp_1')).toEqual({ kind: 'IPPolicy', namespace: 'shared', name: 'a' });
    await expect(resolved(tlsEdgeModulesKind, spec, { objects })).rejects.toThrow('no ReferenceGrant');
  });

  test.each<[string, Pick<Planned, 'action' | 'id'>, string]>([
    ['that is to be created', { action: 'create' }, 'the id of the new TLSEdge ns/edge'],
    ['that is to be replaced', { action: 'replace', id: 'edgtls_1' }, 'the id of the new TLSEdge ns/edge'],
    ['that is changed', { action: 'change', id: 'edgtls_2' }, 'edgtls_2'],
    ['that is kept', { action: 'none', id: 'edgtls_2' }, 'edgtls_2'],
    ['that cannot be planned, but has one', { action: 'blocked' }, 'edgtls_1'],
  ])('to what is in the files are to the id of the resource %s', async (_, plan, id) => {
    const objects = { tlsedges: [having('edge', 'edgtls_1')] };
    const { spec, targets } = await resolved(tlsEdgeModulesKind, toEdge, { objects, plan });
    expect(spec).toMatchObject({ tlsEdgeRef: id });
    expect([...targets.keys()]).toEqual([id]);
  });

  test.each<[string, Surroundings, string]>([
    ['is not there', {}, 'TLSEdge ns/edge does not exist'],
    ['is not ready', { objects: { tlsedges: [object({ name: 'edge' })] } }, 'TLSEdge ns/edge is not ready yet'],
    [
      'is only in the files, and cannot be planned',
      { plan: { action: 'blocked' } },
      'TLSEdge ns/edge is not ready yet',
    ],
    [
      'is of a kind that the operator does not have',
      { objects: { tlsedges: [having('edge', 'edgtls_1')] }, known: [] },
      'TLSEdge ns/edge does not exist',
    ],
  ])('are refused to what %s', async (_, surroundings, message) => {
    await expect(resolved(tlsEdgeModulesKind, toEdge, surroundings)).rejects.toThrow(message);
  });
});

test('texts are read, and kept by their paths', async () => {
  const clientSecret = { secretKeyRef: { name: 's', key: 'k' } };
  const { spec, texts } = await resolved(
    httpsEdgeRouteModulesKind,
    {
      routeRef: { name: 'r' },
      oidc: { issuer: 'https://a.example.com', clientId: { configMapKeyRef: { name: 'c', key: 'k' } }, clientSecret },
    },
    {
      objects: {
        httpsedgeroutes: [having('r', 'edghtsrt_1')],
        secrets: [object({ name: 's', data: { k: Buffer.from('secret').toString('base64') } })],
        configmaps: [object({ name: 'c', data: { k: 'client' } })],
      },
    },
  );
  expect(spec).toMatchObject({ routeRef: 'edghtsrt_1', oidc: { clientId: 'client', clientSecret: 'secret' } });
  expect([...texts]).toEqual([
    ['spec.oidc.clientId', 'client'],
    ['spec.oidc.clientSecret', 'secret'],
  ]);
});

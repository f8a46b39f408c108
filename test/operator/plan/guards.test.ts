/** Which modules keep a route from its backend, in `plan` as in a reconcile. */
import { expect, test } from 'vitest';
import { GROUP } from '../../../src/operator/contract/names.ts';
import { httpsEdgeRouteKind } from '../../../src/operator/kinds/https-edge-route.ts';
import { httpsEdgeRouteModulesKind } from '../../../src/operator/kinds/https-edge-route-modules.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { readSpec } from '../../../src/operator/managed/spec.ts';
import { Guards } from '../../../src/operator/plan/guards.ts';
import type { Planned } from '../../../src/operator/plan/planned.ts';
import { object } from '../objects.ts';

const kinds = [httpsEdgeRouteKind, httpsEdgeRouteModulesKind];
const oidc = { issuer: 'https://a.example.com', clientId: { value: 'x' }, clientSecret: { value: 'y' } };
const modulesIn = (namespace: string, more: object = {}) =>
  object({
    kind: 'HTTPSEdgeRouteModules',
    metadata: { namespace },
    spec: { routeRef: { name: 'r', namespace: 'shop' }, oidc: { ...oidc, ...more } },
  });
const grant = object({
  kind: 'ReferenceGrant',
  metadata: { namespace: 'shop' },
  spec: {
    from: [{ group: GROUP, kind: 'HTTPSEdgeRouteModules', namespace: 'other' }],
    to: [{ group: GROUP, kind: 'HTTPSEdgeRoute' }],
  },
});
const backendRef = { kind: 'HTTPResponseBackend', name: 'page' };
const spec = readSpec(
  httpsEdgeRouteKind.spec,
  object({ spec: { edgeRef: { name: 'e' }, match: '/', matchType: 'path_prefix', backendRef } }),
);
const change: Planned = {
  kind: 'HTTPSEdgeRoute',
  namespace: 'shop',
  name: 'r',
  action: 'change',
  changes: [{ path: 'spec.backendRef', before: undefined, after: 'HTTPResponseBackend page' }],
};

test.each<[string, KubeObject, readonly KubeObject[], string]>([
  ['of its own namespace', modulesIn('shop'), [], 'none'],
  ['of its own namespace that are refused', modulesIn('shop', { issuer: 'https://a.example.com:99999' }), [], 'none'],
  ['of another namespace that may refer to it', modulesIn('other'), [grant], 'none'],
  ['of another namespace that may not', modulesIn('other'), [], 'change'],
  ['of a third namespace', modulesIn('third'), [grant], 'change'],
])('modules %s', async (_, declared, grants, action) => {
  const guards = new Guards({
    kinds,
    all: async (kind) => (kind === httpsEdgeRouteModulesKind ? [declared] : []),
    planOf: () => undefined,
    grants: async () => grants,
  });
  const remote = { id: 'edghtsrt_1', uri: '', backend: null };
  expect(await guards.heldBack(change, { kind: httpsEdgeRouteKind, spec, remote })).toMatchObject({ action });
});

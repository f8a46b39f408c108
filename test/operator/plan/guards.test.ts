/** Which modules hold a route back from its backend, in `plan` as in a reconcile. */
import { expect, test } from 'vitest';
import { GROUP } from '../../../src/operator/contract/names.ts';
import { httpsEdgeRouteKind } from '../../../src/operator/kinds/https-edge-route.ts';
import { httpsEdgeRouteModulesKind } from '../../../src/operator/kinds/https-edge-route-modules.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { readSpec } from '../../../src/operator/managed/declaration/spec.ts';
import { Guards } from '../../../src/operator/plan/guards.ts';
import type { Planned } from '../../../src/operator/plan/planned.ts';
import { object } from '../objects.ts';

const kinds = [httpsEdgeRouteKind, httpsEdgeRouteModulesKind];
const oidc = { issuer: 'https://a.example.com', clientId: { value: 'x' }, clientSecret: { value: 'y' } };
const oauth = { provider: { github: { clientId: { value: 'x' }, clientSecret: { value: 'y' } } } };
const declaring = (namespace: string, spec: object, annotations = {}) =>
  object(
    {
      kind: 'HTTPSEdgeRouteModules',
      metadata: { namespace },
      spec: { routeRef: { name: 'r', namespace: 'shop' }, ...spec },
    },
    annotations,
  );
const modulesIn = (namespace: string, more: object = {}) => declaring(namespace, { oidc: { ...oidc, ...more } });
const grant = object({
  kind: 'ReferenceGrant',
  metadata: { namespace: 'shop' },
  spec: {
    from: [{ group: GROUP, kind: 'HTTPSEdgeRouteModules', namespace: 'other' }],
    to: [{ group: GROUP, kind: 'HTTPSEdgeRoute' }],
  },
});
const backendRef = { kind: 'HTTPResponseBackend', name: 'page' };
const specOf = (more: object = {}) =>
  readSpec(
    httpsEdgeRouteKind.spec,
    object({ spec: { edgeRef: { name: 'e' }, match: '/', matchType: 'path_prefix', backendRef, ...more } }),
  );
const BACKEND = { path: 'spec.backendRef', before: undefined, after: 'HTTPResponseBackend page' };
const MATCH = { path: 'spec.match', before: '/a', after: '/' };
const change: Planned = { kind: 'HTTPSEdgeRoute', namespace: 'shop', name: 'r', action: 'change', changes: [BACKEND] };
const remote = { id: 'edghtsrt_1', uri: '', backend: null };

interface Surroundings {
  readonly grants?: readonly KubeObject[];
  /** The planned action for all modules. */
  readonly plan?: Planned['action'];
}

function guardsAmong(declared: readonly KubeObject[], { grants = [], plan }: Surroundings = {}) {
  const listed: string[] = [];
  const guards = new Guards({
    kinds,
    async all({ kind }) {
      listed.push(kind);
      return declared;
    },
    planOf: (name) => plan && Promise.resolve({ ...name, action: plan, changes: [] }),
    grants: async () => grants,
  });
  return { guards, listed };
}

function heldBack(
  declared: readonly KubeObject[],
  more: Surroundings = {},
  spec = specOf(),
  modules: readonly string[] = [],
) {
  const having = { ...remote, modules };
  return guardsAmong(declared, more).guards.heldBack(change, { kind: httpsEdgeRouteKind, spec, remote: having });
}

test.each<[string, KubeObject, readonly KubeObject[], string]>([
  ['of its own namespace', modulesIn('shop'), [], 'none'],
  ['of its own namespace that are invalid', modulesIn('shop', { issuer: 'https://a.example.com:99999' }), [], 'none'],
  ['of another namespace that may refer to it', modulesIn('other'), [grant], 'none'],
  ['of another namespace that may not', modulesIn('other'), [], 'change'],
  ['of another route', declaring('shop', { routeRef: { name: 'other' }, oidc }), [], 'change'],
  ['that refer to a route by its id', declaring('shop', { routeRef: { id: remote.id }, oidc }), [], 'change'],
  ['that are only observed', declaring('shop', { managementPolicy: 'Observe', oidc }), [], 'change'],
])('whether a route waits for modules %s', async (_, declared, grants, action) => {
  expect(await heldBack([declared], { grants })).toMatchObject({ action });
});

test.each<[string, readonly KubeObject[], Planned['action'] | undefined, string[], string]>([
  ['while they are not set', [modulesIn('shop')], undefined, [], 'none'],
  ['no longer once they are set', [modulesIn('shop')], undefined, ['oidc'], 'change'],
  ['until all modules of an object are set', [declaring('shop', { oidc, oauth })], undefined, ['oidc'], 'none'],
  [
    'no longer once all modules of one of several objects are set',
    [modulesIn('shop'), declaring('shop', { oauth })],
    undefined,
    ['oidc'],
    'change',
  ],
  ['not if the plan sets them', [modulesIn('shop')], 'create', [], 'change'],
  ['if the plan cannot set them', [modulesIn('shop')], 'blocked', [], 'none'],
  ['if they are paused', [declaring('shop', { oidc }, { paused: 'true' })], 'create', [], 'none'],
])('modules hold a route back from its backend %s', async (_, declared, plan, modules, action) => {
  expect(await heldBack(declared, plan && { plan }, specOf(), modules)).toMatchObject({ action });
});

test('a route that requires modules waits for some, whether or not an object declares any', async () => {
  const spec = specOf({ requireModules: true });
  expect(await heldBack([], {}, spec)).toMatchObject({ action: 'none' });
  expect(await heldBack([declaring('shop', {})], { plan: 'create' }, spec)).toMatchObject({ action: 'none' });
  expect(await heldBack([], {}, spec, ['oidc'])).toBe(change);
  expect(await heldBack([])).toBe(change);
});

test('a change that waits is left out of the plan, and mentioned after any other reason', async () => {
  const { guards, listed } = guardsAmong([modulesIn('shop')]);
  const guarded = { kind: httpsEdgeRouteKind, spec: specOf(), remote };
  const both = { ...change, changes: [MATCH, BACKEND] };
  const waiting = 'spec.backendRef waits for modules';
  expect(await guards.heldBack(both, guarded)).toMatchObject({ action: 'change', reason: waiting, changes: [MATCH] });
  const replace: Planned = { ...change, action: 'replace', reason: 'spec.edgeRef changed' };
  const reason = `spec.edgeRef changed; ${waiting}`;
  expect(await guards.heldBack(replace, guarded)).toMatchObject({ action: 'replace', reason, changes: [] });
  expect(listed).toEqual(['HTTPSEdgeRouteModules']);
});

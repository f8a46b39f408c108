/** The old and new values that a plan shows. */
import { describe, expect, test } from 'vitest';
import { httpsEdgeRouteModulesKind } from '../../../src/operator/kinds/https-edge-route-modules.ts';
import { kinds } from '../../../src/operator/kinds/kinds.ts';
import { tlsEdgeModulesKind } from '../../../src/operator/kinds/tls-edge-modules.ts';
import { Blocked } from '../../../src/operator/managed/declaration/external.ts';
import { readSpec } from '../../../src/operator/managed/declaration/spec.ts';
import { changesOf, requireKnownMembers } from '../../../src/operator/plan/spec-changes.ts';
import { object } from '../objects.ts';

const unchanged = { namespace: 'n', texts: new Map(), targets: new Map(), secretBefore: [] };

const BACKEND = 'bkdtg_01m7yvm3eyf20vnt1006h45zq2';

const kindCalled = (name: string) => {
  const found = kinds.find(({ kind }) => kind === name);
  if (!found) throw new Error(`there is no kind ${name}`);
  return found;
};

test('references are shown by the names of the objects, with the namespace if it is another', () => {
  const [policy, other] = ['ipp_01m7yvm3eyf20vnt1006h45zq2', 'ipp_01m7yvm3eyf20vnt1006h45zq3'];
  const spec = {
    tlsEdgeRef: { name: 'edge' },
    ipRestriction: { ipPolicyRefs: [{ name: 'inside' }, { name: 'outside', namespace: 'shared' }] },
    backend: { enabled: false, backendRef: { kind: 'HTTPResponseBackend', name: 'page', namespace: 'n' } },
  };
  const remote = {
    id: 'edgtls_01m7yvm3eyf20vnt1006h45zq2',
    uri: '',
    modules: {
      ip_restriction: { enabled: true, ip_policies: [{ id: policy }, { id: other }] },
      backend: { enabled: true, backend: { id: BACKEND } },
    },
  };
  const changes = changesOf(tlsEdgeModulesKind, {
    ...unchanged,
    declared: readSpec(tlsEdgeModulesKind.spec, object({ spec })),
    targets: new Map([
      [BACKEND, { kind: 'TunnelGroupBackend', namespace: 'other', name: 'group' }],
      [policy, { kind: 'IPPolicy', namespace: 'n', name: 'inside' }],
    ]),
    remote,
    members: ['ipRestriction.ipPolicyRefs', 'backend.enabled', 'backend.backendRef'],
  });
  expect(changes).toEqual([
    {
      path: 'spec.ipRestriction.ipPolicyRefs',
      before: ['IPPolicy inside', other],
      after: ['IPPolicy inside', 'IPPolicy shared/outside'],
    },
    { path: 'spec.backend.enabled', before: true, after: false },
    { path: 'spec.backend.backendRef', before: 'TunnelGroupBackend other/group', after: 'HTTPResponseBackend page' },
  ]);
});

describe('a plan hides', () => {
  const routeRef = { name: 'r' };
  const clientId = { value: 'x' };

  test('only the parts of a secret member that take their text from a source', () => {
    const github = { clientId, clientSecret: { value: 'NEW' }, organizations: ['new'] };
    const declared = readSpec(
      httpsEdgeRouteModulesKind.spec,
      object({ spec: { routeRef, oauth: { provider: { github } } } }),
    );
    const texts = new Map([
      ['spec.oauth.provider.github.clientId', 'x'],
      ['spec.oauth.provider.github.clientSecret', 'NEW'],
    ]);
    const shown = { client_id: 'y', client_secret: null, organizations: ['old'] };
    const remote = { id: 'r', uri: '', modules: { oauth: { provider: { github: shown } } } };
    const change = { ...unchanged, declared, texts, remote, members: ['oauth.provider'] };
    expect(changesOf(httpsEdgeRouteModulesKind, change)).toEqual(
      expect.arrayContaining([
        { path: 'spec.oauth.provider.github.clientId', isSecret: true },
        { path: 'spec.oauth.provider.github.clientSecret', isSecret: true },
        { path: 'spec.oauth.provider.github.organizations', before: ['old'], after: ['new'] },
      ]),
    );
  });

  test('a whole member if any part of it came from a Secret before', () => {
    const oidc = { issuer: 'https://a.example.com', clientId, clientSecret: { value: 'y' }, scopes: ['a'] };
    const declared = readSpec(httpsEdgeRouteModulesKind.spec, object({ spec: { routeRef, oidc } }));
    const texts = new Map([['spec.oidc.clientId', 'x']]);
    const change = { ...unchanged, declared, texts, remote: undefined, members: ['oidc.clientId', 'oidc.scopes'] };
    expect(changesOf(httpsEdgeRouteModulesKind, { ...change, secretBefore: ['spec.oidc.scopes[0]'] })).toEqual([
      { path: 'spec.oidc.clientId', before: undefined, after: 'x' },
      { path: 'spec.oidc.scopes', isSecret: true },
    ]);
  });

  test('a header from a Secret, in any spelling of its name', () => {
    const backends = kindCalled('HTTPResponseBackend');
    const secretKeyRef = { name: 'app', key: 'auth' };
    const headers = { Authorization: { secretKeyRef }, 'X-Plain': { value: 'shown' } };
    const changes = changesOf(backends, {
      ...unchanged,
      declared: readSpec(backends.spec, object({ spec: { headers } })),
      texts: new Map([['spec.headers.Authorization', 'Bearer NEW']]),
      remote: { id: 'x', uri: 'u', headers: { authorization: 'Bearer OLD' } } as never,
      members: ['headers'],
    });
    expect(JSON.stringify(changes)).not.toMatch(/NEW|OLD/);
    expect(JSON.stringify(changes)).toContain('shown');
  });
});

test('members that the kind does not have are all refused in one error', () => {
  const known = { tlsEdgeRef: { name: 'edge' }, managementPolicy: 'Observe', deletionPolicy: 'Retain' };
  const refused = (more: object) => () => requireKnownMembers(tlsEdgeModulesKind, { ...known, ...more });
  expect(refused({})).not.toThrow();
  expect(refused({ edge: 1, other: 2 })).toThrow(Blocked);
  expect(refused({ edge: 1, other: 2 })).toThrow('spec.edge: unknown field; spec.other: unknown field');
});

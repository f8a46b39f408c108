/** What to do about references, sources and modules, as the messages say it. */
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { tlsSecret } from '../../dev/fixtures/source-texts.ts';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { GROUP } from '../../src/operator/contract/names.ts';
import { REFERENCE_GRANTS } from '../../src/operator/managed/knowledge/reference-grants.ts';
import { createNamespace, kubectl } from '../harness.ts';
import { referenceGrantCrd } from './foreign-crds.ts';
import { type Problem, testRemedies } from './remedies.ts';
import { eventually, type Manifest, manifest, ours, POLICIES, policy, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'remedies', operators: 0 });
const { client, namespace } = stack;
const there = await createNamespace('remedies-there');
const crd = referenceGrantCrd();
expect(await kubectl(['apply', '-f', '-'], { input: JSON.stringify(crd) })).toMatchObject({ code: 0 });
expect(await kubectl(['wait', '--for=condition=Established', `crd/${crd.metadata.name}`])).toMatchObject({ code: 0 });
afterAll(() => kubectl(['delete', 'crd', crd.metadata.name, '--ignore-not-found']));
const both = [namespace, there];
await stack.operateIn(both);

const CONFIGURATIONS = ours('endpointconfigurations');
const BACKENDS = ours('httpresponsebackends');
const CERTIFICATES = ours('tlscertificates');
const EDGES = ours('httpsedges');
const EDGE_MODULES = ours('tlsedgemodules');
const ROUTES = ours('httpsedgeroutes');

const object = (name: string, kind: string, spec: object = {}): Manifest => manifest({ name: kind }, name, spec);
const secret = (name: string, stringData: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData,
});
const write = async (given: object) => expect(await stack.tryApply(given)).toMatchObject({ code: 0 });

const restricted = (name: string, target = `${name}-policy`) =>
  object(name, 'EndpointConfiguration', { type: 'http', ipPolicyRefs: [{ name: target }] });
/** An edge that is to go, and a route that still refers to it. */
async function deletedWhileReferredTo(name: string): Promise<undefined> {
  await stack.apply(object(name, 'HTTPSEdge'), routeOf(name));
  await stack.ready(ROUTES, name);
  await stack.run('delete', EDGES.plural, name, '--wait=false');
}
const page = (name: string, from = { name, key: 'html' }) =>
  object(name, 'HTTPResponseBackend', { body: { secretKeyRef: from } });
const modules = (name: string, edge: object, rest: object = {}) =>
  object(name, 'TLSEdgeModules', { tlsEdgeRef: edge, ...rest });

const routeOf = (name: string, edge = name, rest: object = {}) =>
  object(name, 'HTTPSEdgeRoute', { edgeRef: { name: edge }, match: '/', matchType: 'path_prefix', ...rest });
/** A route that would serve if its modules were there. */
const guarded = (name: string, rest: object = {}) => [
  object(name, 'HTTPSEdge'),
  object(name, 'TunnelGroupBackend', { labels: { app: name } }),
  routeOf(name, name, { backendRef: { kind: 'TunnelGroupBackend', name }, ...rest }),
];
const signIn = (name: string) =>
  object(name, 'HTTPSEdgeRouteModules', {
    routeRef: { name },
    oidc: {
      issuer: 'https://accounts.example.com',
      clientId: { value: 'portal' },
      clientSecret: { secretKeyRef: { name, key: 'clientSecret' } },
    },
  });
const NOT_SERVED = 'spec.backendRef is set once the modules are there, without which it would serve everybody';

const problems: Problem[] = [
  {
    what: 'a reference to what does not exist',
    type: CONFIGURATIONS,
    async arrange(name) {
      await stack.apply(restricted(name));
      return undefined;
    },
    says: (name) =>
      `spec.ipPolicyRefs[0]: IPPolicy ${namespace}/${name}-policy does not exist: create it, or correct the reference`,
    remedies: {
      'create it': (name) => stack.apply(policy(`${name}-policy`)),
      'correct the reference': (name) => stack.apply(policy(`${name}-other`), restricted(name, `${name}-other`)),
    },
  },
  {
    what: 'a reference to what is not ready',
    type: EDGE_MODULES,
    async arrange(name) {
      await stack.apply(object(name, 'TLSEdge', { managementPolicy: 'Observe' }), modules(name, { name }));
      return undefined;
    },
    says: (name) => `spec.tlsEdgeRef: TLSEdge ${namespace}/${name} is not ready yet: its condition Ready says why`,
    remedies: {
      'its condition Ready says why': async (name) => {
        const { ready } = await stack.see(ours('tlsedges'), name);
        expect(ready?.message).toContain('or managementPolicy to Manage');
        await stack.apply(object(name, 'TLSEdge', { managementPolicy: 'Manage' }));
      },
    },
  },
  {
    what: 'a reference to what is being deleted',
    type: ROUTES,
    arrange: deletedWhileReferredTo,
    says: (name) =>
      `spec.edgeRef: HTTPSEdge ${namespace}/${name} is being deleted: refer to another, or delete this object, too`,
    remedies: {
      'refer to another': async (name) => {
        await stack.apply(object(`${name}-other`, 'HTTPSEdge'), routeOf(name, `${name}-other`));
        await eventually(async () => expect(await stack.find(EDGES, name)).toBeUndefined());
      },
    },
    ends: { 'delete this object, too': (name) => stack.remove(ROUTES, name) },
  },
  {
    what: 'what is to be deleted, but is referred to',
    type: EDGES,
    arrange: deletedWhileReferredTo,
    says: (name) =>
      `HTTPSEdgeRoute ${namespace}/${name} refers to this object, which is deleted once nothing does: delete what refers to it, or let that refer to another`,
    remedies: {},
    ends: {
      'delete what refers to it': (name) => stack.remove(ROUTES, name),
      'let that refer to another': (name) =>
        stack.apply(object(`${name}-other`, 'HTTPSEdge'), routeOf(name, `${name}-other`)),
    },
  },
  {
    what: 'a source that does not exist',
    type: BACKENDS,
    async arrange(name) {
      await stack.apply(page(name));
      return undefined;
    },
    says: (name) => `spec.body: Secret ${namespace}/${name} does not exist: create it, or name another`,
    remedies: {
      'create it': (name) => write(secret(name, { html: 'text' })),
      'name another': async (name) => {
        await write(secret(`${name}-other`, { html: 'text' }));
        await stack.apply(page(name, { name: `${name}-other`, key: 'html' }));
      },
    },
  },
  {
    what: 'a source without the key',
    type: BACKENDS,
    async arrange(name) {
      await write(secret(name, { text: 'text' }));
      await stack.apply(page(name));
      return undefined;
    },
    says: (name) => `spec.body: Secret ${namespace}/${name} has no key "html": add it there, or name another`,
    remedies: {
      'add it there': (name) => write(secret(name, { text: 'text', html: 'text' })),
      'name another': (name) => stack.apply(page(name, { name, key: 'text' })),
    },
  },
  {
    what: 'a source that is not text',
    type: BACKENDS,
    async arrange(name) {
      await write({ ...secret(name, { text: 'text' }), data: { html: '/w==' } });
      await stack.apply(page(name));
      return undefined;
    },
    says: (name) =>
      `spec.body: the value of "html" in Secret ${namespace}/${name} is not UTF-8 text: put text there, or name another key`,
    remedies: {
      'put text there': (name) => write(secret(name, { html: 'text' })),
      'name another key': (name) => stack.apply(page(name, { name, key: 'text' })),
    },
  },
  {
    what: 'a certificate whose Secret does not exist',
    type: CERTIFICATES,
    async arrange(name) {
      await stack.apply(object(name, 'TLSCertificate', { secretRef: { name: `${name}-tls` } }));
      return undefined;
    },
    says: (name) =>
      `spec.secretRef["tls.crt"]: Secret ${namespace}/${name}-tls does not exist: create it, or name another`,
    remedies: {
      'create it': async (name) => {
        const { pem, keyPem } = await makeCertificate({ subject: 'CN=example.com', ca: false });
        await write(tlsSecret(`${name}-tls`, { chain: pem, key: keyPem }));
      },
    },
  },
  {
    what: 'modules of what other modules are declared for',
    type: EDGE_MODULES,
    async arrange(name) {
      await stack.apply(object(name, 'TLSEdge'), modules(`${name}-first`, { name }));
      const { status } = await stack.ready(EDGE_MODULES, `${name}-first`);
      await stack.apply(modules(name, { name }));
      return status.id;
    },
    says: (name, id) =>
      `${id} is already managed by the TLSEdgeModules ${namespace}/${name}-first: delete this object, or set deletionPolicy of that one to Retain and delete it`,
    remedies: {
      'set deletionPolicy of that one to Retain and delete it': async (name) => {
        await stack.apply(modules(`${name}-first`, { name }, { deletionPolicy: 'Retain' }));
        await stack.remove(EDGE_MODULES, `${name}-first`);
      },
    },
    ends: { 'delete this object': (name) => stack.remove(EDGE_MODULES, name) },
  },
  {
    what: 'modules of what does not exist in the API',
    type: EDGE_MODULES,
    async arrange(name) {
      const { id } = await client.tlsEdges.create({});
      await client.tlsEdges.delete(id);
      await stack.apply(modules(name, { id }));
      return id;
    },
    says: (_, id) => `${id} does not exist: there is nothing to set the modules of; correct the reference`,
    remedies: {
      'correct the reference': async (name) =>
        stack.apply(modules(name, { id: (await client.tlsEdges.create({})).id })),
    },
  },
  {
    what: 'a route that requires modules, without any',
    type: ROUTES,
    async arrange(name) {
      await stack.apply(...guarded(name, { requireModules: true }));
      return undefined;
    },
    says: () =>
      `${NOT_SERVED}: spec.requireModules asks for some, and no object declares any: declare some, or remove it`,
    remedies: {
      'declare some': async (name) => {
        await write(secret(name, { clientSecret: 'secret' }));
        await stack.apply(signIn(name));
      },
      'remove it': (name) => stack.apply(...guarded(name)),
    },
  },
  {
    what: 'a route whose modules cannot be set',
    type: ROUTES,
    async arrange(name) {
      await stack.apply(signIn(name), ...guarded(name));
      return undefined;
    },
    says: (name) =>
      `${NOT_SERVED}: oidc of HTTPSEdgeRouteModules ${namespace}/${name}, whose condition Ready says what is missing`,
    remedies: {
      'what is missing': async (name) => {
        await eventually(async () => {
          const { ready } = await stack.see(ours('httpsedgeroutemodules'), name);
          expect(ready?.message).toContain(`Secret ${namespace}/${name} does not exist: create it`);
        });
        await write(secret(name, { clientSecret: 'secret' }));
      },
    },
  },
];

testRemedies(stack, problems);

test('the ReferenceGrant that a message spells out permits the reference, and no other', async () => {
  const far = async (name: string) => {
    await kubectl(['-n', there, 'apply', '-f', '-'], { input: JSON.stringify(policy(name)) });
    const spec = { type: 'http', ipPolicyRefs: [{ name, namespace: there }] };
    await stack.apply(object(name, 'EndpointConfiguration', spec));
    return (await stack.reason(CONFIGURATIONS, name, 'Ready', 'ReferenceNotPermitted')).ready?.message ?? '';
  };
  const message = await far('wanted');
  await far('other');
  const [, instruction = '', spec = ''] = /^(.*, with )(spec: .*)$/.exec(message) ?? [];
  expect(instruction).toBe(
    `spec.ipPolicyRefs[0]: no ReferenceGrant in namespace ${there} permits references from EndpointConfiguration in namespace ${namespace} to IPPolicy wanted: have one created there, with `,
  );
  const grant = {
    apiVersion: `${REFERENCE_GRANTS.group}/${REFERENCE_GRANTS.version}`,
    kind: 'ReferenceGrant',
    metadata: { name: 'wanted' },
    ...parse(spec),
  };
  expect(grant.spec.from[0].group).toBe(GROUP);
  expect(await kubectl(['-n', there, 'apply', '-f', '-'], { input: JSON.stringify(grant) })).toMatchObject({ code: 0 });
  await stack.ready(CONFIGURATIONS, 'wanted');
  expect((await stack.reconciled(CONFIGURATIONS, 'other')).ready?.reason).toBe('ReferenceNotPermitted');
  await stack.remove(CONFIGURATIONS, 'wanted', 'other');
  expect(await kubectl(['-n', there, 'delete', POLICIES.plural, '--all'])).toMatchObject({ code: 0 });
});

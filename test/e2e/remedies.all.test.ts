/** The remedies that messages name solve the problem when they are followed to the letter. */
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { REFERENCE_GRANTS } from '../../src/operator/managed/knowledge/reference-grants.ts';
import { createNamespace, kubectl } from '../harness.ts';
import { referenceGrantCrd } from './foreign-crds.ts';
import { CREDENTIALS, credential, type Manifest, manifest, ours, POLICIES, policy, SECRETS } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const { adopt: ADOPT, rotateRequestedAt: ROTATE } = ANNOTATION;

const stack = await startStack({ prefix: 'remedies', operators: 0 });
const { client, kube, namespace } = stack;
const there = await createNamespace('remedies-there');
const crd = referenceGrantCrd();
expect(await kubectl(['apply', '-f', '-'], { input: JSON.stringify(crd) })).toMatchObject({ code: 0 });
expect(await kubectl(['wait', '--for=condition=Established', `crd/${crd.metadata.name}`])).toMatchObject({ code: 0 });
afterAll(() => kubectl(['delete', 'crd', crd.metadata.name, '--ignore-not-found']));
await stack.operateIn([namespace, there]);
const anyone = await client.ipPolicies.create({});

const CONFIGURATIONS = ours('endpointconfigurations');
const BACKENDS = ours('httpresponsebackends');
const EDGES = ours('httpsedges');
const EDGE_MODULES = ours('tlsedgemodules');
const ROUTES = ours('httpsedgeroutes');

const object = (name: string, kind: string, spec: object = {}): Manifest => manifest(kind, name, spec);
const write = async (name: string, data: object) => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, ...data };
  expect(await stack.tryApply(secret)).toMatchObject({ code: 0 });
};
const page = (name: string, from = { name, key: 'html' }) =>
  object(name, 'HTTPResponseBackend', { body: { secretKeyRef: from } });
const modules = (name: string, edge: object, rest: object = {}) =>
  object(name, 'TLSEdgeModules', { tlsEdgeRef: edge, ipRestriction: { ipPolicyRefs: [{ id: anyone.id }] }, ...rest });
const routeOf = (name: string, edge = name) =>
  object(name, 'HTTPSEdgeRoute', { edgeRef: { name: edge }, match: '/', matchType: 'path_prefix' });
/** Deletes an edge while a route still refers to it. */
async function deletedWhileReferredTo(name: string): Promise<void> {
  await stack.apply(object(name, 'HTTPSEdge'), routeOf(name));
  await stack.ready(ROUTES, name);
  await stack.run('delete', EDGES.plural, name, '--wait=false');
}
const moveToAnother = (name: string) =>
  stack.apply(object(`${name}-other`, 'HTTPSEdge'), routeOf(name, `${name}-other`));

/** Creates a credential and deletes the object, which leaves its Secret behind. */
async function retained(name: string): Promise<string> {
  await stack.apply(credential(name, { deletionPolicy: 'Retain' }));
  const { status } = await stack.ready(CREDENTIALS, name);
  await stack.remove(CREDENTIALS, name);
  return String(status.id);
}

const told = (type: ResourceType, name: string, message: string) =>
  eventually(async () => expect((await stack.see(type, name)).ready?.message).toBe(message));

type Remedy = (name: string, id: string) => Promise<unknown>;

const manage: Remedy = (name) => stack.apply(policy(name, { managementPolicy: 'Manage' }));
const rename: Remedy = (name) => stack.apply(credential(name, { secret: { name: `${name}-other` } }));
const deleteSecret: Remedy = (name) => stack.run('delete', 'secret', name);

interface Problem {
  what: string;
  type: ResourceType;
  /** Gives an object of that name the problem; returns an id if the message or the remedies need one. */
  arrange(name: string): Promise<unknown>;
  /** The message of the condition Ready. */
  says: (name: string, id: unknown) => string;
  remedies: Record<string, Remedy>;
  /** Remedies after which the object is gone. */
  ends?: Record<string, Remedy>;
}

const problems: Problem[] = [
  {
    what: 'nothing to observe',
    type: POLICIES,
    arrange: (name) => stack.apply(policy(name, { managementPolicy: 'Observe' })),
    says: () =>
      `There is nothing to observe: set the annotation ${ADOPT} to the id of a resource, or managementPolicy to Manage`,
    remedies: {
      'set the annotation': async (name) =>
        stack.annotate(POLICIES, name, { [ADOPT]: (await client.ipPolicies.create({})).id }),
      'managementPolicy to Manage': manage,
    },
  },
  {
    what: 'an object that only observes, and whose own resource is gone',
    type: POLICIES,
    async arrange(name) {
      await stack.apply(policy(name));
      const id = await stack.idOf(POLICIES, name);
      await client.ipPolicies.delete(id);
      await stack.apply(policy(name, { managementPolicy: 'Observe' }));
      return id;
    },
    says: (_, id) => `${id} does not exist: set managementPolicy to Manage to have it created again`,
    remedies: { 'set managementPolicy to Manage': manage },
  },
  {
    what: 'a resource to adopt that differs in an immutable field',
    type: CREDENTIALS,
    async arrange(name) {
      const id = await retained(name);
      const { id: ownerId } = await client.botUsers.create({ name });
      await stack.apply(credential(name, { ownerId }, { [ADOPT]: id }));
      return id;
    },
    says: (_, id) =>
      `${id} differs in spec.ownerId, which cannot be changed: delete this object and create one that matches ${id}`,
    remedies: {
      'delete this object and create one that matches': async (name, id) => {
        await stack.remove(CREDENTIALS, name);
        await stack.apply(credential(name, {}, { [ADOPT]: id }));
        expect((await stack.ready(CREDENTIALS, name)).status.id).toBe(id);
      },
    },
  },
  {
    what: 'a reference to an object that is being deleted',
    type: ROUTES,
    arrange: deletedWhileReferredTo,
    says: (name) =>
      `spec.edgeRef: HTTPSEdge ${namespace}/${name} is being deleted: refer to another, or delete this object as well`,
    remedies: { 'refer to another': moveToAnother },
    ends: { 'delete this object as well': (name) => stack.remove(ROUTES, name) },
  },
  {
    what: 'an object that is being deleted while another refers to it',
    type: EDGES,
    arrange: deletedWhileReferredTo,
    says: (name) =>
      `HTTPSEdgeRoute ${namespace}/${name} refers to this object, which is deleted once nothing does: delete what refers to it, or let that refer to another`,
    remedies: {},
    ends: {
      'delete what refers to it': (name) => stack.remove(ROUTES, name),
      'let that refer to another': moveToAnother,
    },
  },
  {
    what: 'a source without the key',
    type: BACKENDS,
    async arrange(name) {
      await write(name, { stringData: { text: 'text' } });
      await stack.apply(page(name));
    },
    says: (name) => `spec.body: Secret ${namespace}/${name} has no key "html": add it there, or name another`,
    remedies: {
      'add it there': (name) => write(name, { stringData: { text: 'text', html: 'text' } }),
      'name another': (name) => stack.apply(page(name, { name, key: 'text' })),
    },
  },
  {
    what: 'a second object that declares modules for the same edge',
    type: EDGE_MODULES,
    async arrange(name) {
      await stack.apply(object(name, 'TLSEdge'), modules(`${name}-first`, { name }));
      const { status } = await stack.ready(EDGE_MODULES, `${name}-first`);
      await stack.apply(modules(name, { name }));
      return String(status.id);
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
    what: 'a Secret that Retain left behind',
    type: CREDENTIALS,
    async arrange(name) {
      const id = await retained(name);
      await stack.apply(credential(name));
      return id;
    },
    says: (name, id) =>
      `Secret ${name} exists and holds the token of ${id}: set the annotation ${ADOPT} to ${id}, or set spec.secret.name to another name`,
    remedies: {
      'set the annotation': (name, id) => stack.annotate(CREDENTIALS, name, { [ADOPT]: id }),
      'set spec.secret.name to another name': rename,
    },
  },
  {
    what: 'an immutable Secret that a rotation has to change',
    type: CREDENTIALS,
    async arrange(name) {
      await stack.apply(credential(name, { description: name }));
      const { status } = await stack.ready(CREDENTIALS, name);
      await kube.patch(SECRETS, name, { immutable: true }, namespace);
      await stack.annotate(CREDENTIALS, name, { [ROTATE]: 'now' });
      await stack.reason(CREDENTIALS, name, 'Ready', 'SecretConflict');
      // No token was issued, since it could not be stored, and the old one works.
      const made = await stack.sql('select id from credentials where description = $1', [name]);
      expect(made).toEqual([{ id: status.id }]);
      expect(await stack.accepts((await stack.secret(name))?.token)).toBe(true);
    },
    says: (name) =>
      `Secret ${name} is immutable, and has to change: delete the Secret, or set spec.secret.name to another name`,
    remedies: { 'delete the Secret': deleteSecret, 'set spec.secret.name to another name': rename },
  },
];

describe.each(problems.map((problem, n) => ({ ...problem, n })))('$what', (problem) => {
  const { n, type, arrange, says, remedies, ends = {} } = problem;
  const all = Object.entries({ ...remedies, ...ends });
  test.for(all)('%s', async ([remedy, perform]) => {
    const name = `problem-${n}-${Object.keys({ ...remedies, ...ends }).indexOf(remedy)}`;
    const id = await arrange(name);
    await told(type, name, says(name, id));
    await perform(name, String(id));
    if (remedy in ends) {
      await eventually(async () => expect(await stack.find(type, name)).toBeUndefined());
      return;
    }
    await stack.ready(type, name);
    if (type !== CREDENTIALS) return;
    const { secretName } = (await stack.see(type, name)).status;
    expect(await stack.accepts((await stack.secret(String(secretName)))?.token)).toBe(true);
  });
});

test('an object with a resource reports that the annotation adopt has no effect, and a remedy that works', async () => {
  await stack.apply(policy('late'));
  const own = await stack.idOf(POLICIES, 'late');
  const { id } = await client.ipPolicies.create({});
  await stack.annotate(POLICIES, 'late', { [ADOPT]: id });
  const note = `the annotation ${ADOPT} has no effect, since this object has ${own}: remove it, and create another object with it to adopt ${id}`;
  await told(POLICIES, 'late', `${own} matches the spec; ${note}`);
  await eventually(async () => {
    const events = (await stack.events('late')).filter(({ reason }) => reason === 'AdoptionIgnored');
    expect(events).toEqual([{ type: 'Warning', reason: 'AdoptionIgnored', message: note }]);
  });
  await stack.annotate(POLICIES, 'late', { [ADOPT]: null });
  await told(POLICIES, 'late', `${own} matches the spec`);
  await stack.apply(policy('another', {}, { [ADOPT]: id }));
  await eventually(async () => expect((await stack.ready(POLICIES, 'another')).status.id).toBe(id));
});

test('the ReferenceGrant that a message spells out permits the reference, and no other', async () => {
  const far = async (name: string) => {
    await kubectl(['-n', there, 'apply', '-f', '-'], { input: JSON.stringify(policy(name)) });
    const spec = { type: 'http', ipPolicyRefs: [{ name, namespace: there }] };
    await stack.apply(object(name, 'EndpointConfiguration', spec));
    return (await stack.reason(CONFIGURATIONS, name, 'Ready', 'ReferenceNotPermitted')).ready?.message ?? '';
  };
  const message = await far('wanted');
  await far('other');
  const [, spec = ''] = /^.*: have one created there, with (spec: .*)$/.exec(message) ?? [];
  const grant = {
    apiVersion: `${REFERENCE_GRANTS.group}/${REFERENCE_GRANTS.version}`,
    kind: 'ReferenceGrant',
    metadata: { name: 'wanted' },
    ...parse(spec),
  };
  expect(await kubectl(['-n', there, 'apply', '-f', '-'], { input: JSON.stringify(grant) })).toMatchObject({ code: 0 });
  await stack.ready(CONFIGURATIONS, 'wanted');
  expect((await stack.reconciled(CONFIGURATIONS, 'other')).ready?.reason).toBe('ReferenceNotPermitted');
  await stack.remove(CONFIGURATIONS, 'wanted', 'other');
  expect(await kubectl(['-n', there, 'delete', POLICIES.plural, '--all'])).toMatchObject({ code: 0 });
});

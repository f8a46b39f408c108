/** What is planned for the objects of files, and what blocks one of them without ending the plan. */

import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ApiError, createClient } from '../../../src/client/client.ts';
import type { DerivedKind } from '../../../src/operator/export/spec-members.ts';
import { attachedKinds, kinds } from '../../../src/operator/kinds/kinds.ts';
import type { ResourceType } from '../../../src/operator/kube/kube-api.ts';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import type { Remote } from '../../../src/operator/managed/declaration/external.ts';
import { ApiServerCheck } from '../../../src/operator/plan/api-server-check.ts';
import { DeclaredObjects } from '../../../src/operator/plan/declared-objects.ts';
import { DesiredCluster } from '../../../src/operator/plan/desired-cluster.ts';
import type { ManifestDocument } from '../../../src/operator/plan/manifest-files.ts';
import { NamedResources } from '../../../src/operator/plan/named-resources.ts';
import { Planner } from '../../../src/operator/plan/planner.ts';
import { Rivals } from '../../../src/operator/plan/rivals.ts';
import { SecretConflicts } from '../../../src/operator/plan/secret-conflicts.ts';
import { object } from '../objects.ts';

const missing = new ApiError({ error_code: 'NOT_FOUND', status_code: 404, msg: 'not found', details: {} });

interface Surroundings {
  /** The objects of the cluster by the plurals of their kinds, or the error that reading them throws. */
  readonly objects?: Readonly<Record<string, readonly KubeObject[] | Error>>;
  readonly remotes?: readonly Remote[] | Error;
  /** The members in which every resource differs. */
  readonly changed?: string[];
  readonly mayAdopt?: boolean;
  /** The names of the objects for which the API server takes longer to answer. */
  readonly slow?: readonly string[];
  /** The plural of the kind whose objects the API server refuses. */
  readonly refused?: string;
}

/** Plans the documents with every kind, on servers with the given content. */
async function planned(documents: readonly ManifestDocument[], surroundings: Surroundings = {}) {
  const { objects = {}, remotes = [], changed = [], mayAdopt = true, slow = [], refused } = surroundings;
  const original = createClient({ baseUrl: 'http://localhost:1', apiKey: 'x' });
  const find = async (id: string) => {
    if (remotes instanceof Error) throw remotes;
    return remotes.find((each) => each.id === id);
  };
  const get = async (): Promise<never> => {
    throw missing;
  };
  const client = { ...original, users: { ...original.users, get }, whoami: get };
  const answering = (kind: DerivedKind): DerivedKind => ({
    ...kind,
    external: () => ({
      ...kind.external(original),
      observe: find,
      sight: async () => 'everything' as const,
      changes: () => changed,
      scope: async () => ({ resources: [], nextSequence: 1 }),
    }),
  });
  const all = [...kinds, ...attachedKinds].map(answering);
  const itemsOf = ({ plural }: ResourceType) => {
    const items = objects[plural] ?? [];
    if (items instanceof Error) throw items;
    return [...items];
  };
  const kube = {
    async find(type: ResourceType, name: string) {
      if (slow.includes(name)) await setTimeout(20);
      return itemsOf(type).find(({ metadata }) => metadata.name === name);
    },
    list: async (type: ResourceType) => ({ items: itemsOf(type), resourceVersion: '1', continueToken: undefined }),
  };
  // An object whose check is throttled is taken as it is.
  const busy = async ({ plural }: ResourceType): Promise<never> => {
    if (plural === refused) throw new KubeError(422, 'Invalid', 'in other words');
    throw new KubeError(429, 'TooManyRequests', 'busy');
  };
  const note = () => {};
  const declared = new DeclaredObjects(
    documents.map((document, index) => ({ document, place: `document ${index + 1}` })),
    'ns',
  );
  const cluster = new DesiredCluster(kube, declared);
  return new Planner({
    kinds: all,
    client,
    declared,
    cluster,
    apiServer: new ApiServerCheck({
      kube: { tryCreate: busy, tryPatch: busy, tryApply: busy },
      createsNamespace: () => false,
      note,
    }),
    rivals: new Rivals({ existing: (kind) => cluster.existing(kind), mayAdopt: () => mayAdopt }),
    secrets: new SecretConflicts({
      find: (name) => cluster.findSecret(name),
      isDeclared: (name) => cluster.declaresSecret(name),
      mayAdopt: () => mayAdopt,
      note,
    }),
    named: new NamedResources(all, client),
    otherChoice: () => undefined,
    all: (kind) => cluster.all(kind),
    grants: () => cluster.grants(),
    mayAdopt: (namespace) => mayAdopt && namespace === 'ns',
    mayHandOutUserRights: false,
  }).planAll();
}

const [OWN, OTHER] = ['edgtls_01m7yvm3eyf20vnt1006h45zq2', 'edgtls_01m7yvm3eyf20vnt1006h45zq3'];
const USER = 'usr_01m7yvm3eyf20vnt1006h45zq2';
const denied = new ApiError({ error_code: 'PERMISSION_DENIED', status_code: 403, msg: 'denied', details: {} });

const file = (kind: string, name: string, spec: object = {}, annotations: Record<string, string> = {}) => ({
  apiVersion: 'tunnel-operator.dev/v1alpha1',
  kind,
  metadata: { name, annotations: named(annotations) },
  spec,
});
const named = (annotations: Record<string, string>) =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [`tunnel-operator.dev/${name}`, value]));
const edge = (name: string, spec: object = {}, annotations: Record<string, string> = {}) =>
  file('TLSEdge', name, spec, annotations);
const modules = (name: string, spec: object, annotations: Record<string, string> = {}) =>
  file('TLSEdgeModules', name, spec, annotations);
const blocked = (reason: string) => ({ action: 'blocked', reason: expect.stringContaining(reason), changes: [] });
const own = { id: OWN, uri: '', description: 'old', hostports: [] };
const status = { id: OWN, createGeneration: 1 };

test('plans keep the file order, objects may refer to later ones, and other API groups are skipped', async () => {
  const foreign = { ...edge('foreign'), apiVersion: 'other.example/v1' };
  const plans = await planned([modules('m', { tlsEdgeRef: { name: 'e' } }), foreign, edge('e', { description: 'x' })]);
  expect(plans).toMatchObject([
    { kind: 'TLSEdgeModules', name: 'm', action: 'create', changes: [{ path: 'spec.tlsEdgeRef', after: 'TLSEdge e' }] },
    {
      kind: 'TLSEdge',
      name: 'e',
      action: 'create',
      changes: expect.arrayContaining([{ path: 'spec.description', before: undefined, after: 'x' }]),
    },
  ]);
});

test('of two routes with one path, however it is written, the second is blocked', async () => {
  const route = (name: string, match: string) =>
    file('HTTPSEdgeRoute', name, { edgeRef: { name: 'e' }, match, matchType: 'path_prefix' });
  const plans = await planned([route('b', '/%61dmin'), file('HTTPSEdge', 'e'), route('a', '/admin')]);
  expect(plans).toMatchObject([
    { name: 'b', action: 'create' },
    { name: 'e', action: 'create' },
    { name: 'a', ...blocked('spec.match: HTTPSEdgeRoute ns/b has the same') },
  ]);
});

test('an existing resource is changed in the members that differ', async () => {
  const surroundings = { objects: { tlsedges: [object({ name: 'e', kind: 'TLSEdge', status })] }, remotes: [own] };
  const [change] = await planned([edge('e', { description: 'new' })], { ...surroundings, changed: ['description'] });
  expect(change).toMatchObject({ action: 'change', id: OWN });
  expect(change?.changes).toEqual([{ path: 'spec.description', before: 'old', after: 'new' }]);
  expect(await planned([edge('e')], surroundings)).toMatchObject([{ action: 'none', id: OWN, changes: [] }]);
});

test.each<[string, readonly ManifestDocument[], Surroundings, string]>([
  ['the files contradict each other', [edge('e'), edge('e', { description: 'x' })], {}, 'declared differently'],
  ['its kind is unknown', [file('Other', 'e')], {}, 'the operator has no kind Other'],
  [
    'it is being deleted',
    [edge('e')],
    { objects: { tlsedges: [object({ name: 'e', metadata: { deletionTimestamp: '2026-11-21T10:00:00Z' } })] } },
    'the object is being deleted',
  ],
  ['it has a member that its kind lacks', [edge('e', { other: 1 })], {}, 'spec.other: unknown field'],
  ['a member has an invalid value', [edge('e', { description: 1 })], { refused: 'tlsedges' }, 'spec.description: '],
  ['the API server refuses it', [edge('e')], { refused: 'tlsedges' }, 'in other words'],
  ['its reference has no target', [modules('m', { tlsEdgeRef: { name: 'x' } })], {}, 'TLSEdge ns/x does not exist'],
  [
    'it may not be read in the cluster',
    [edge('e')],
    { objects: { tlsedges: new KubeError(403, 'Forbidden', 'no right') } },
    'could not be looked at: no right',
  ],
  [
    'its resource may not be read in the API',
    [edge('e', {}, { adopt: OTHER })],
    { remotes: denied },
    'could not be looked at with this API key: denied',
  ],
  ['it may not adopt', [edge('e', {}, { adopt: OWN })], { remotes: [own], mayAdopt: false }, 'may be neither adopted'],
  [
    'it may not refer to a resource by its id',
    [modules('m', { tlsEdgeRef: { id: OWN } })],
    { remotes: [own], mayAdopt: false },
    'nothing may be named by its id',
  ],
  [
    'it would hand out the rights of a user',
    [file('APIKey', 'k', { ownerId: USER, secret: {} })],
    {},
    'must belong to a bot',
  ],
  [
    'it names a resource by an id that does not exist',
    [file('TunnelCredential', 'c', { ownerId: USER, secret: {} })],
    {},
    `spec.ownerId: ${USER} does not exist`,
  ],
  [
    'its Secret belongs to something else',
    [file('TunnelCredential', 'c', { secret: {} })],
    { objects: { secrets: [object({ name: 'c', kind: 'Secret' })] } },
    'Secret c exists',
  ],
])('an object is blocked, and no other, if %s', async (_, documents, surroundings, reason) => {
  const [first, last] = await planned([...documents, file('BotUser', 'other', { name: 'x' })], surroundings);
  expect(first).toMatchObject(blocked(reason));
  expect(last).toMatchObject({ action: 'create' });
});

test('a paused object does nothing, even with an invalid spec, but its claim counts in file order', async () => {
  const [a, b] = [edge('a', { other: 1 }, { paused: 'true', adopt: OWN }), edge('b', {}, { adopt: OWN })];
  const paused = { name: 'a', action: 'none', reason: 'paused', changes: [] };
  expect(await planned([a, b], { remotes: [own] })).toMatchObject([paused, blocked('TLSEdge ns/a')]);
  const later = await planned([b, a], { remotes: [own], slow: ['b'] });
  expect(later).toMatchObject([{ action: 'none', reason: 'adopted' }, paused]);
});

test.each([
  ['answered first', []],
  ['answered last', ['a', 'c']],
])('of new objects that claim one resource or Secret, the first in the files gets it when %s', async (_, slow) => {
  const plans = await planned(
    [
      edge('a', {}, { adopt: OWN }),
      edge('b', {}, { adopt: OWN }),
      file('TunnelCredential', 'c', { secret: { name: 's' } }),
      file('TunnelCredential', 'd', { secret: { name: 's' } }),
    ],
    { remotes: [own], slow },
  );
  expect(plans).toMatchObject([
    { action: 'none', reason: 'adopted' },
    blocked('TLSEdge ns/a'),
    { action: 'create' },
    blocked('belongs to TunnelCredential c'),
  ]);
});

test('of new objects with modules, only those of the same edge exclude each other', async () => {
  const remotes = [own, { ...own, id: OTHER }];
  const tlsedges = remotes.map(({ id }, index) =>
    object({ name: `e${index}`, kind: 'TLSEdge', status: { id, createGeneration: 1 } }),
  );
  const of = (name: string, edgeName: string) => modules(name, { tlsEdgeRef: { name: edgeName } });
  const plans = await planned([of('a', 'e0'), of('b', 'e1'), of('c', 'e0')], { objects: { tlsedges }, remotes });
  expect(plans).toMatchObject([{ action: 'none' }, { action: 'none' }, blocked('TLSEdgeModules ns/a')]);
});

test.each<[string, Surroundings, Record<string, string>, object]>([
  ['is created', {}, {}, { action: 'create' }],
  ['is kept', { remotes: [own] }, { adopt: OWN }, { id: OWN }],
  ['is blocked', {}, { adopt: OTHER }, blocked('TLSEdge ns/e is not ready yet')],
])('the plan of an object follows that of its target, which %s', async (_, surroundings, annotations, expected) => {
  const [plan] = await planned([modules('m', { tlsEdgeRef: { name: 'e' } }), edge('e', {}, annotations)], surroundings);
  expect(plan).toMatchObject(expected);
});

/** What is planned for the objects of files, and what keeps one of them from it without ending the plan. */
import { expect, test } from 'vitest';
import { ApiError } from '../../../src/client/client.ts';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import type { ManifestDocument } from '../../../src/operator/plan/manifest-files.ts';
import { object } from '../objects.ts';
import { planned, type Surroundings } from './planner-under-test.ts';

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

test('objects are planned in the order of the files, each after what it refers to, and others’ not at all', async () => {
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

test('a resource that is there changes in what differs', async () => {
  const surroundings = { objects: { tlsedges: [object({ name: 'e', kind: 'TLSEdge', status })] }, remotes: [own] };
  const [change] = await planned([edge('e', { description: 'new' })], { ...surroundings, changed: ['description'] });
  expect(change).toMatchObject({ action: 'change', id: OWN });
  expect(change?.changes).toEqual([{ path: 'spec.description', before: 'old', after: 'new' }]);
  expect(await planned([edge('e')], surroundings)).toMatchObject([{ action: 'none', id: OWN, changes: [] }]);
});

test.each<[string, readonly ManifestDocument[], Surroundings, string]>([
  ['the files contradict each other', [edge('e'), edge('e', { description: 'x' })], {}, 'declared differently'],
  ['its kind is not known', [file('Other', 'e')], {}, 'the operator has no kind Other'],
  [
    'its version is not known',
    [{ ...edge('e'), apiVersion: 'tunnel-operator.dev/v9' }],
    {},
    'the operator has no kind TLSEdge of tunnel-operator.dev/v9',
  ],
  [
    'it is being deleted',
    [edge('e')],
    { objects: { tlsedges: [object({ name: 'e', metadata: { deletionTimestamp: '2026-11-21T10:00:00Z' } })] } },
    'the object is being deleted',
  ],
  ['it has a member that the kind has not', [edge('e', { other: 1 })], {}, 'spec.other: unknown field'],
  ['a member is not what it can be', [edge('e', { description: 1 })], { refused: 'tlsedges' }, 'spec.description: '],
  ['the API server refuses it', [edge('e')], { refused: 'tlsedges' }, 'in other words'],
  ['it lacks what it refers to', [modules('m', { tlsEdgeRef: { name: 'x' } })], {}, 'TLSEdge ns/x does not exist'],
  [
    'it may not be looked at in the cluster',
    [edge('e')],
    { objects: { tlsedges: new KubeError(403, 'Forbidden', 'no right') } },
    'could not be looked at: no right',
  ],
  [
    'it may not be looked at in the API',
    [edge('e', {}, { adopt: OTHER })],
    { remotes: denied },
    'could not be looked at with this API key: denied',
  ],
  ['it may not adopt', [edge('e', {}, { adopt: OWN })], { remotes: [own], mayAdopt: false }, 'may be neither adopted'],
  [
    'its annotation names what was not made for it',
    [edge('e', {}, { 'external-id': OWN })],
    { remotes: [own], mayAdopt: false },
    'may be neither adopted',
  ],
  [
    'it may name nothing by its id',
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
    'what it names by its id does not exist',
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

test.each([
  ['the cluster', { objects: { tlsedges: new KubeError(500, 'InternalError', 'failed') } }, 'failed'],
  [
    'the API',
    { remotes: new ApiError({ error_code: 'INTERNAL_ERROR', status_code: 500, msg: 'broken', details: {} }) },
    'broken',
  ],
])('there is no plan if %s fails', async (_, surroundings, message) => {
  await expect(planned([edge('e', {}, { adopt: OTHER })], surroundings)).rejects.toThrow(message);
});

test.each([
  ['first', ['a', 'b'], []],
  ['last', ['b', 'a'], ['b']],
])(
  'one that is paused does nothing, whatever its spec is, but claims what it names, if it comes %s',
  async (_, order, slow) => {
    const files = { a: edge('a', { other: 1 }, { paused: 'true', adopt: OWN }), b: edge('b', {}, { adopt: OWN }) };
    const documents = Object.values(files).sort(
      (x, y) => order.indexOf(x.metadata.name) - order.indexOf(y.metadata.name),
    );
    const plans = await planned(documents, { remotes: [own], slow });
    expect(plans.find(({ name }) => name === 'a')).toMatchObject({ action: 'none', reason: 'paused', changes: [] });
    expect(plans.find(({ name }) => name === 'b')).toMatchObject(
      order[0] === 'a' ? blocked('TLSEdge ns/a') : { action: 'none', reason: 'adopted' },
    );
  },
);

test('one that only observes changes nothing', async () => {
  const observing = edge('a', { managementPolicy: 'Observe' }, { adopt: OWN });
  expect(await planned([observing], { remotes: [own], changed: ['description'] })).toMatchObject([
    { action: 'none', reason: 'only observed', id: OWN, changes: [] },
  ]);
});

test.each([
  ['answered first', []],
  ['answered last', ['a', 'c']],
])('of several new objects, the first in the files has what they all claim, or deliver into: %s', async (_, slow) => {
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

test('what is superseded and due is deleted with the end of a pause', async () => {
  const retiring = JSON.stringify([{ id: OTHER, generation: 1, after: '2026-11-21T10:00:00Z' }]);
  const annotations = named({ 'external-id': OWN, retiring });
  const applied = JSON.stringify({ metadata: { annotations: named({ paused: 'true' }) } });
  const paused = {
    ...annotations,
    ...named({ paused: 'true' }),
    'kubectl.kubernetes.io/last-applied-configuration': applied,
  };
  const objects = { tlsedges: [object({ name: 'e', kind: 'TLSEdge', metadata: { annotations: paused } })] };
  const gone = `${OTHER}, which is superseded, is deleted`;
  const surroundings = { objects, remotes: [own] };
  expect(await planned([edge('e')], surroundings)).toMatchObject([{ action: 'change', reason: gone }]);
  expect(await planned([edge('e', { managementPolicy: 'Observe' })], surroundings)).toMatchObject([
    { action: 'change', reason: `only observed; ${gone}` },
  ]);
  expect(await planned([edge('e')], { objects })).toMatchObject([
    { action: 'create', reason: `${OWN} no longer exists; ${gone}` },
  ]);
});

test('a new route that requires modules waits for some with its backend', async () => {
  const backend = { kind: 'HTTPResponseBackend', name: 'page' };
  const documents = [
    file('HTTPSEdge', 'e', {}),
    file('HTTPResponseBackend', 'page', { body: { value: 'x' } }),
    file('HTTPSEdgeRoute', 'r', {
      edgeRef: { name: 'e' },
      match: '/',
      matchType: 'path_prefix',
      backendRef: backend,
      requireModules: true,
    }),
  ];
  const [, , route] = await planned(documents);
  expect(route).toMatchObject({ action: 'create', reason: 'spec.backendRef waits for modules' });
});

test.each<[string, Surroundings['changed'], Record<string, string>, object]>([
  ['does not keep it from staying', [], {}, { action: 'none' }],
  ['does not keep it from changing', ['description'], {}, { action: 'change' }],
  [
    'keeps it from being replaced',
    [],
    { 'rotate-requested-at': 'now' },
    blocked(`spec.ownerId: ${USER} does not exist`),
  ],
])('that the owner of a resource is gone %s', async (_, changed = [], annotations, expected) => {
  const id = 'cr_01m7yvm3eyf20vnt1006h45zq2';
  const existing = object({ name: 'c', kind: 'TunnelCredential', status: { id, createGeneration: 1 } });
  const credential = { id, uri: '', owner_id: USER };
  const [plan] = await planned([file('TunnelCredential', 'c', { ownerId: USER, secret: {} }, annotations)], {
    objects: { tunnelcredentials: [existing] },
    remotes: [credential],
    changed,
  });
  expect(plan).toMatchObject(expected);
});

test.each([
  ['a Secret', 'Secret', { path: 'spec.description', isSecret: true }],
  ['a ConfigMap', 'ConfigMap', { path: 'spec.description', before: 'old', after: 'new' }],
])('what was taken from %s until now is shown or not', async (_, kind, expected) => {
  const sources = [{ field: 'spec.description', kind, name: 's', resourceVersion: '1', digest: 'd' }];
  const [plan] = await planned([edge('e', { description: 'new' })], {
    objects: { tlsedges: [object({ name: 'e', kind: 'TLSEdge', status: { ...status, sources } })] },
    remotes: [own],
    changed: ['description'],
  });
  expect(plan?.changes).toEqual([expected]);
});

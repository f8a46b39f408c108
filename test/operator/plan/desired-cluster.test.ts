/** The cluster with the files applied: what is read from it, and what the files change. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { GROUP } from '../../../src/operator/contract/names.ts';
import type { ResourceType } from '../../../src/operator/kube/kube-api.ts';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import { type KubeObject, LAST_APPLIED } from '../../../src/operator/kube/kube-object.ts';
import { Source } from '../../../src/operator/managed/declaration/input.ts';
import { DeclaredObjects } from '../../../src/operator/plan/declared-objects.ts';
import { DesiredCluster, isNew } from '../../../src/operator/plan/desired-cluster.ts';
import type { ManifestDocument } from '../../../src/operator/plan/manifest-files.ts';
import { object } from '../objects.ts';

const POLICIES = 'tunnel-operator.dev/v1alpha1/ippolicies';
const GRANTS = 'gateway.networking.k8s.io/v1beta1/referencegrants';
const kind = { kind: 'IPPolicy', plural: 'ippolicies' };

/** The objects of the cluster by group, version and plural, or the error that reading them throws. */
type Content = Readonly<Record<string, readonly KubeObject[] | Error>>;

function cluster(documents: readonly ManifestDocument[], content: Content = {}) {
  const asked: string[] = [];
  const itemsOf = (type: ResourceType, more = '') => {
    const path = `${type.group}/${type.version}/${type.plural}`;
    asked.push(path + more);
    const items = content[path] ?? [];
    if (items instanceof Error) throw items;
    return [...items];
  };
  const kube = {
    find: async (type: ResourceType, name: string, namespace?: string) =>
      itemsOf(type, `/${namespace}/${name}`).find(
        ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
      ),
    list: async (type: ResourceType) => ({ items: itemsOf(type), resourceVersion: '1', continueToken: undefined }),
  };
  const manifests = documents.map((document, index) => ({ document, place: `document ${index + 1}` }));
  return { desired: new DesiredCluster(kube, new DeclaredObjects(manifests, 'ns')), asked };
}

const file = (name: string, more: object = {}, metadata: object = {}): ManifestDocument => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind: 'IPPolicy',
  metadata: { name, ...metadata },
  ...more,
});
const invalid = (name: string) => file(name, {}, { finalizers: 'none' });
const core = (of: 'Secret' | 'ConfigMap' | 'Namespace', name: string, more: object = {}): ManifestDocument => ({
  apiVersion: 'v1',
  kind: of,
  metadata: { name },
  ...more,
});

describe('a file', () => {
  test('declares an object that does not exist yet', async () => {
    const { desired } = cluster([]);
    const document = file('a', { spec: { description: 'x' }, status: { id: 'forged' } }, { uid: 'forged' });
    const { object: made, body, manager } = await desired.applied(kind, document);
    expect(made).toEqual({
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'IPPolicy',
      metadata: { name: 'a', namespace: 'ns', annotations: {}, uid: '', resourceVersion: '0', creationTimestamp: '' },
      spec: { description: 'x' },
    });
    expect(body).toMatchObject({ metadata: { name: 'a', namespace: 'ns' }, spec: { description: 'x' } });
    expect([isNew(made), manager]).toEqual([true, undefined]);
  });

  test('changes an existing object relative to what kubectl applied before', async () => {
    const before = {
      metadata: { annotations: { mine: '1' } },
      spec: { description: 'x', metadata: 'y' },
      status: { id: 'ipp_0' },
    };
    const annotations = { mine: '1', theirs: '2', [LAST_APPLIED]: JSON.stringify(before) };
    const existing = object({
      version: 7,
      metadata: { annotations },
      spec: { description: 'x', metadata: 'y', other: 'z' },
      status: { id: 'ipp_1' },
    });
    const { desired } = cluster([], { [POLICIES]: [existing] });
    const { object: made, body, manager } = await desired.applied(kind, file('a', { spec: { description: 'new' } }));
    const { mine: _, ...kept } = annotations;
    expect(made).toEqual({
      ...existing,
      apiVersion: `${GROUP}/v1alpha1`,
      metadata: { ...existing.metadata, annotations: kept },
      spec: { description: 'new', other: 'z' },
    });
    expect(body).toMatchObject({
      metadata: { annotations: { mine: null } },
      spec: { description: 'new', metadata: null },
    });
    expect([isNew(made), manager]).toEqual([false, undefined]);
  });

  test('is sent as it is for a server-side apply', async () => {
    const managedFields = [{ manager: 'flux', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:old': {} } } }];
    const existing = object({ metadata: { managedFields }, spec: { old: 1 } });
    const { desired } = cluster([], { [POLICIES]: [existing] });
    const { object: made, body, manager } = await desired.applied(kind, file('a', { spec: { description: 'new' } }));
    expect(made.spec).toEqual({ description: 'new' });
    expect(body).toMatchObject({ spec: { description: 'new' }, metadata: { namespace: 'ns', annotations: {} } });
    expect(body).not.toHaveProperty('spec.old');
    expect(manager).toBe('flux');
  });
});

describe('the objects of a kind', () => {
  const [a, b, elsewhere] = ['a', 'b', 'a'].map((name, index) =>
    object({
      name,
      uid: `${index}`,
      spec: { description: 'old' },
      ...(index === 2 && { metadata: { namespace: 'x' } }),
    }),
  );
  const spec = { description: 'new' };
  const there = [a, b, elsewhere].filter((each) => each !== undefined);

  test('include those that exist only in the files', async () => {
    const foreign = { ...file('foreign'), apiVersion: 'other.example/v1' };
    const other = { ...file('other'), kind: 'TLSEdge' };
    const documents = [file('a', { spec }), file('c', { spec }), invalid('d'), foreign, other];
    const { desired } = cluster(documents, { [POLICIES]: there });
    const found = await desired.all(kind);
    expect(found.map(({ metadata, spec }) => [metadata.namespace, metadata.name, spec])).toEqual([
      ['ns', 'a', spec],
      ['ns', 'b', { description: 'old' }],
      ['x', 'a', { description: 'old' }],
      ['ns', 'c', spec],
    ]);
  });
});

test('the files declare only the Secrets and namespaces that they contain', () => {
  const { desired } = cluster([core('Secret', 's'), core('ConfigMap', 'c'), core('Namespace', 'n')]);
  expect(['s', 'c'].map((name) => desired.declaresSecret({ namespace: 'ns', name }))).toEqual([true, false]);
  expect(desired.declaresSecret({ namespace: 'other', name: 's' })).toBe(false);
  expect(['n', 'c', 'other'].map((name) => desired.createsNamespace(name))).toEqual([true, false, false]);
  const foreign = { ...core('Namespace', 'n'), apiVersion: 'other.example/v1' };
  expect(cluster([foreign]).desired.createsNamespace('n')).toBe(false);
});

describe('a text', () => {
  const source = (of: 'Secret' | 'ConfigMap', key = 'key') => new Source({ kind: of, name: 's', key }, z.string());
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const secret = object({ name: 's', kind: 'Secret', data: { key: base64('cluster'), other: base64('theirs') } });
  const read = async (documents: readonly ManifestDocument[], content: Content, of = source('Secret')) => {
    const { desired, asked } = cluster(documents, content);
    const { text } = await desired.reader('ns')(of, 'spec.text');
    return { text, asked };
  };
  const inCluster = { '/v1/secrets': [secret] };

  test('comes from the files, or else from the cluster', async () => {
    expect(await read([], inCluster)).toEqual({ text: 'cluster', asked: ['/v1/secrets/ns/s'] });
    const map = object({ name: 's', kind: 'ConfigMap', data: { key: 'map' } });
    expect(await read([], { '/v1/configmaps': [map] }, source('ConfigMap'))).toMatchObject({ text: 'map' });
    const given = [core('Secret', 's', { data: { key: base64('file') } })];
    expect(await read(given, inCluster)).toEqual({ text: 'file', asked: [] });
  });
});

test('the ReferenceGrants are those of the files, and the others of the cluster, if it has the Gateway API', async () => {
  const grant = (name: string, more: object = {}): ManifestDocument => ({
    apiVersion: 'gateway.networking.k8s.io/v1beta1',
    kind: 'ReferenceGrant',
    metadata: { name },
    ...more,
  });
  const documents = [
    grant('a', { spec: 'file' }),
    grant('foreign', { apiVersion: 'other.example/v1' }),
    grant('gateway', { kind: 'Gateway' }),
    grant('invalid', { metadata: { name: 'invalid', finalizers: 'none' } }),
  ];
  const grantsOf = async (content: readonly KubeObject[] | Error) =>
    (await cluster(documents, { [GRANTS]: content }).desired.grants()).map(({ metadata, spec }) => [
      metadata.name,
      spec,
    ]);
  const existing = ['a', 'b'].map((name) => object({ name, kind: 'ReferenceGrant', spec: 'cluster' }));
  const [ofFile, ofCluster] = [
    ['a', 'file'],
    ['b', 'cluster'],
  ];
  expect(await grantsOf(existing)).toEqual([ofFile, ofCluster]);
  expect(await grantsOf(new KubeError(404, 'NotFound', 'no such resource'))).toEqual([ofFile]);
  const refused = new KubeError(403, 'Forbidden', 'no');
  await expect(grantsOf(refused)).rejects.toBe(refused);
});

/** How an object keeps its DNSEndpoint, on the real API server. */
import { describe, expect, test } from 'vitest';
import { KubeError } from '../../../../src/operator/kube/kube-error.ts';
import type { KubeObject, OwnerReference } from '../../../../src/operator/kube/kube-object.ts';
import type { DnsRecord } from '../../../../src/operator/managed/declaration/kind.ts';
import { endpointSpec, isEdit } from '../../../../src/operator/managed/object/dns-endpoint.ts';
import { condition, object } from '../../objects.ts';
import { type Circumstances, managing } from '../managing.ts';

const remote = { id: 'ipp_1', uri: 'https://api.test/ip_policies/ipp_1' };
const manage = { deletionPolicy: 'Delete', managementPolicy: 'Manage' } as const;
const record = (target: string): DnsRecord => ({ name: 'app.example.net', type: 'CNAME', target });
const wanted = endpointSpec([record('x.example.com')]);

const managed = object({}, { externalId: 'ipp_1' });
const shows = object({ status: { conditions: [{ ...condition('Ready', 'True'), type: 'DNSPublished' }] } });
const ownerWith = (uid: string): OwnerReference => ({ apiVersion: 'v1', kind: 'Sample', name: 'a', uid });
const [own, other] = [ownerWith('uid-of-a'), ownerWith('uid-of-another')];
const endpoint = (ownerReferences: OwnerReference[], annotations = {}, spec: object = wanted) => {
  const { metadata } = object({}, annotations);
  return object({ uid: 'endpoint', spec, metadata: { ...metadata, uid: 'endpoint', ownerReferences } });
};

interface Setting extends Circumstances {
  existing?: KubeObject;
  /** Those that the spec asks for. */
  records?: DnsRecord[] | undefined;
}

async function keeping(of: KubeObject, { existing, ...more }: Setting = {}) {
  const records = 'records' in more ? more.records : [record('x.example.com')];
  const world = await managing(of, {
    kind: { dnsRecords: () => records },
    beside: { dnsendpoints: existing ? [existing] : [] },
    ...more,
  });
  const { managed, cluster, access } = world;
  return {
    ...world,
    ensure: (policies: Parameters<typeof managed.publishDnsRecords>[0] = manage) =>
      managed.publishDnsRecords(policies, remote),
    release: () => managed.releaseDnsEndpoint(),
    find: () => cluster.find('dnsendpoints', 'a'),
    /** The cache knows the DNSEndpoint. */
    hear: async () => access.dnsEndpoints.watch.observe(await cluster.get('dnsendpoints', 'a')),
  };
}

const PUBLISHED = { status: 'True', reason: 'Published', message: 'Written to DNSEndpoint a' };

test('it is created, and belongs to the object', async () => {
  const { ensure, find, managed } = await keeping(object());
  expect(await ensure()).toEqual(PUBLISHED);
  const { name, uid } = managed.object.metadata;
  expect(await find()).toMatchObject({
    spec: wanted,
    metadata: { ownerReferences: [{ kind: 'Sample', name, uid, controller: true, blockOwnerDeletion: true }] },
  });
});

test.each([
  ['alone', [own]],
  ['and to another', [other, own]],
])('one that belongs to the object %s and matches is left as it is', async (_, owners) => {
  const { ensure, cluster } = await keeping(managed, { existing: endpoint(owners) });
  expect(await ensure()).toEqual(PUBLISHED);
  expect(cluster.writes()).toEqual([]);
});

test.each([
  ['that belongs to the object is updated', endpoint([own], {}, { endpoints: [] })],
  ['that an earlier object of the domain has left is taken over', endpoint([], { externalId: 'ipp_1' })],
  ['that was left is taken over and updated', endpoint([], { externalId: 'ipp_1' }, { endpoints: [] })],
])('one %s', async (_, existing) => {
  const { ensure, find, managed: of } = await keeping(managed, { existing });
  expect(await ensure()).toEqual(PUBLISHED);
  const found = await find();
  expect(found?.metadata.ownerReferences).toMatchObject([{ uid: of.object.metadata.uid }]);
  expect([found?.spec, found?.metadata.annotations ?? {}]).toEqual([wanted, {}]);
});

test.each<[string, KubeObject, KubeObject]>([
  ['belongs to something else', endpoint([other]), managed],
  ['belongs to something else and names the domain', endpoint([other], { externalId: 'ipp_1' }), managed],
  ['belongs to nothing', endpoint([]), object()],
  ['was left by an object of another domain', endpoint([], { externalId: 'ipp_2' }), managed],
])('one that %s is left alone', async (_, existing, of) => {
  const { ensure, release, find, cluster } = await keeping(of, { existing, records: [record('y.example.com')] });
  const before = await find();
  expect(await ensure()).toEqual({
    status: 'False',
    reason: 'PublishConflict',
    message: 'DNSEndpoint a exists and does not belong to this object: delete it, or rename this object',
  });
  await release();
  expect([cluster.writes(), await find()]).toEqual([[], before]);
});

describe('without records to publish', () => {
  test.each<[string, KubeObject, boolean]>([
    ['the status shows', shows, false],
    ['the cache has', managed, true],
  ])('one that %s is deleted', async (_, of, isKnown) => {
    const { ensure, find, hear } = await keeping(of, { existing: endpoint([own]), records: undefined });
    if (isKnown) await hear();
    expect([await ensure(), await find()]).toEqual([undefined, undefined]);
  });

  test('one that belongs to something else stays', async () => {
    const { ensure, find } = await keeping(shows, { existing: endpoint([other]), records: undefined });
    expect(await ensure()).toBeUndefined();
    expect(await find()).toBeDefined();
  });

  test('nothing is looked for if there was none', async () => {
    const { ensure, release, cluster } = await keeping(managed, { records: undefined });
    expect(await ensure()).toBeUndefined();
    await release();
    expect(cluster.asked()).toEqual([]);
  });
});

test('an object that only observes leaves it as it is', async () => {
  const { ensure, cluster } = await keeping(shows, { existing: endpoint([own]), records: undefined });
  expect(await ensure({ ...manage, managementPolicy: 'Observe' })).toBeUndefined();
  expect(cluster.asked()).toEqual([]);
});

test('a refusal by the cluster is shown, and tried again', async () => {
  const { ensure, managed } = await keeping(object(), { policy: 'refuses creates' });
  expect(await ensure()).toMatchObject({ status: 'False', reason: 'PublishRefused' });
  expect(managed.retryAt).toBeInstanceOf(Date);
});

test('a cluster without ExternalDNS is said to have no such kind', async () => {
  const { ensure, access } = await keeping(object());
  const { kube } = access;
  const create = () => Promise.reject(new KubeError(404, 'NotFound', 'no such kind'));
  Object.assign(kube, { create });
  expect(await ensure()).toMatchObject({ status: 'False', reason: 'KindNotInstalled' });
});

test('when the object goes and its domain stays, it stays with its other owners, and names the domain', async () => {
  const of = object({ status: shows.status }, { externalId: 'ipp_1' });
  const { release, find } = await keeping(of, { existing: endpoint([other, own]) });
  await release();
  expect((await find())?.metadata).toMatchObject({
    ownerReferences: [{ uid: other.uid }],
    annotations: { 'tunnel-operator.dev/external-id': 'ipp_1' },
  });
});

test.each<[string, KubeObject['metadata'] | object, boolean]>([
  ['its spec', { generation: 2 }, true],
  ['its owners', { ownerReferences: [other] }, true],
  ['its status', { resourceVersion: '2' }, false],
])('an update of %s is an edit: %j %s', (_, more, expected) => {
  const previous = endpoint([own]);
  const { metadata } = previous;
  const changed = { ...previous, metadata: { ...metadata, ...more } };
  expect(isEdit({ type: 'updated', key: 'ns/a', object: changed, previous })).toBe(expected);
  expect(isEdit({ type: 'deleted', key: 'ns/a', object: previous })).toBe(true);
});

/** How an object maintains its DNSEndpoint, on the real API server. */
import { expect, test } from 'vitest';
import { KubeError } from '../../../../src/operator/kube/kube-error.ts';
import type { KubeObject, OwnerReference } from '../../../../src/operator/kube/kube-object.ts';
import type { DnsRecord } from '../../../../src/operator/managed/declaration/kind.ts';
import { endpointSpec, isEdit } from '../../../../src/operator/managed/object/dns-endpoint.ts';
import { condition, object } from '../../objects.ts';
import { type Circumstances, managing } from '../managed-under-test.ts';

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
  /** The records that the spec asks for. */
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
    /** Puts the DNSEndpoint into the cache. */
    hear: async () => access.dnsEndpoints.watch.observe(await cluster.get('dnsendpoints', 'a')),
  };
}

const PUBLISHED = { status: 'True', reason: 'Published', message: 'Written to DNSEndpoint a' };

test('a DNSEndpoint is created, and owned by the object', async () => {
  const { ensure, find, managed } = await keeping(object());
  expect(await ensure()).toEqual(PUBLISHED);
  const { name, uid } = managed.object.metadata;
  expect(await find()).toMatchObject({
    spec: wanted,
    metadata: { ownerReferences: [{ kind: 'Sample', name, uid, controller: true, blockOwnerDeletion: true }] },
  });
});

const endpoints = { endpoints: [] };
test.each([
  ['of the object is left as it is', endpoint([own]), false],
  ['of the object and another is left as it is', endpoint([other, own]), false],
  ['of the object is updated', endpoint([own], {}, endpoints), true],
  ['left by an earlier object of the domain is taken over', endpoint([], { externalId: 'ipp_1' }), true],
  ['left by an earlier object is updated', endpoint([], { externalId: 'ipp_1' }, endpoints), true],
])('a DNSEndpoint %s', async (_, existing, isWritten) => {
  const { ensure, find, managed: of, cluster } = await keeping(managed, { existing });
  expect(await ensure()).toEqual(PUBLISHED);
  const { spec, metadata } = (await find()) ?? existing;
  expect(metadata.ownerReferences).toContainEqual(expect.objectContaining({ uid: of.object.metadata.uid }));
  expect([spec, metadata.annotations ?? {}]).toEqual([wanted, {}]);
  expect(cluster.writes()).toHaveLength(isWritten ? 1 : 0);
});

test.each<[string, KubeObject, KubeObject]>([
  ['of another object', endpoint([other], { externalId: 'ipp_1' }), managed],
  ['without an owner', endpoint([]), object()],
  ['left by the object of another domain', endpoint([], { externalId: 'ipp_2' }), managed],
])('a DNSEndpoint %s is left alone', async (_, existing, of) => {
  const { ensure, release, find, cluster } = await keeping(of, { existing, records: [record('y.example.com')] });
  const before = await find();
  expect(await ensure()).toMatchObject({ status: 'False', reason: 'PublishConflict' });
  await release();
  expect([cluster.writes(), await find()]).toEqual([[], before]);
});

test.each<[string, KubeObject, KubeObject, boolean, boolean]>([
  ['a DNSEndpoint that the status shows is deleted', shows, endpoint([own]), false, false],
  ['a DNSEndpoint in the cache is deleted', managed, endpoint([own]), true, false],
  ['a DNSEndpoint of another object stays', shows, endpoint([other]), false, true],
])('without records to publish, %s', async (_, of, existing, isKnown, stays) => {
  const { ensure, find, hear } = await keeping(of, { existing, records: undefined });
  if (isKnown) await hear();
  expect(await ensure()).toBeUndefined();
  expect((await find()) !== undefined).toBe(stays);
});

test.each([
  ['none were published before', managed, manage],
  ['the object only observes', shows, { ...manage, managementPolicy: 'Observe' as const }],
])('without records to publish, no request is sent if %s', async (_, of, policies) => {
  const { ensure, cluster } = await keeping(of, { records: undefined });
  expect(await ensure(policies)).toBeUndefined();
  expect(cluster.asked()).toEqual([]);
});

test('a write that the cluster refuses is shown, and retried', async () => {
  const { ensure, managed } = await keeping(object(), { policy: 'refuses creates' });
  expect(await ensure()).toMatchObject({ status: 'False', reason: 'PublishRefused' });
  expect(managed.retryAt).toBeInstanceOf(Date);
});

test('a cluster without ExternalDNS is reported as lacking the kind', async () => {
  const { ensure, access } = await keeping(object());
  Object.assign(access.kube, { create: () => Promise.reject(new KubeError(404, 'NotFound', 'no such kind')) });
  expect(await ensure()).toMatchObject({ status: 'False', reason: 'KindNotInstalled' });
});

test('a released DNSEndpoint keeps its other owners, and names the domain', async () => {
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

/** What is written beside a resource, and how an object keeps it. */
import { describe, expect, test } from 'vitest';
import { type KubeObject, kubeObject } from '../../../src/operator/kube/kube-object.ts';
import { refusal } from '../kube/answering.ts';
import { condition, object } from '../objects.ts';
import { type Circumstances, managing } from './managing.ts';

const companion = {
  type: { group: 'dns.test', version: 'v1', plural: 'endpoints' },
  kind: 'Endpoint',
  condition: 'Published',
  specFor: ({ description }: { description?: string }) => (description ? { description } : undefined),
};
const remote = { id: 'ipp_1', uri: 'https://api.test/ip_policies/ipp_1' };
const policies = { deletionPolicy: 'Delete', managementPolicy: 'Manage' } as const;
const wanting = { ...policies, description: 'any' };
const shows = (reason: string) =>
  object({ status: { conditions: [{ ...condition('Ready', 'True'), type: 'Published', reason }] } });
const ownerReferences = [{ apiVersion: 'v1', kind: 'IPPolicy', name: 'a', uid: 'uid-of-a' }];
const existing = object({ kind: 'Endpoint', uid: 'endpoint', metadata: { ownerReferences } });

async function keeping(of: KubeObject, { isKnown = false, ...more }: Circumstances & { isKnown?: boolean } = {}) {
  const observed: KubeObject[] = [];
  const companions = { has: () => isKnown, observe: (each: KubeObject) => void observed.push(each) };
  const beside = { endpoints: [existing] };
  const { managed, cluster } = await managing(of, { kind: { companion }, beside, access: { companions }, ...more });
  const find = () => kubeObject.safeParse(cluster.find('endpoints', 'ns/a')).data;
  return { managed, cluster, observed, find };
}

const notWanted = { Published: { status: 'False', reason: 'NotPublished', message: 'Not asked for' } };

describe('a companion', () => {
  test('is written where it is wanted, and said to be', async () => {
    const { managed, find, observed } = await keeping(object(), { beside: {} });
    const finding = { status: 'True', reason: 'Published', message: 'Written to Endpoint a' };
    expect(await managed.ensureCompanion(wanting, remote)).toEqual({ Published: finding });
    expect(find()?.spec).toEqual({ description: 'any' });
    expect(observed).toEqual([find()]);
    expect(managed.retryAt).toBeUndefined();
  });

  test('that is refused is tried again, though nothing tells when', async () => {
    const { managed } = await keeping(object(), { beside: {}, policies: { refuse: refusal(403, 'Forbidden') } });
    expect(await managed.ensureCompanion(wanting, remote)).toMatchObject({ Published: { reason: 'PublishRefused' } });
    expect(managed.retryAt).toBeInstanceOf(Date);
  });

  test.each<[string, KubeObject, boolean]>([
    ['the status shows', shows('Published'), false],
    ['the cache has', object(), true],
  ])('that %s is removed where it is not wanted', async (_, of, isKnown) => {
    const { managed, find } = await keeping(of, { isKnown });
    expect(await managed.ensureCompanion(policies, remote)).toEqual(notWanted);
    expect(find()).toBeUndefined();
  });

  test.each<[string, KubeObject, object]>([
    ['says nothing', object(), {}],
    ['says so as long as that was said before', shows('NotPublished'), notWanted],
  ])('that was never wanted costs no call, and %s', async (_, of, expected) => {
    const { managed, cluster } = await keeping(of);
    expect(await managed.ensureCompanion(policies, remote)).toEqual(expected);
    expect(cluster.asked()).toEqual([]);
  });

  test.each<[string, Circumstances]>([
    ['of kinds that have none', { kind: {} }],
    ['where the cluster may have none', { access: {} }],
  ])('is nobody’s business %s', async (_, circumstances) => {
    const { managed, cluster } = await keeping(shows('Published'), circumstances);
    expect(await managed.ensureCompanion(wanting, remote)).toEqual({});
    await managed.releaseCompanion();
    expect(cluster.asked()).toEqual([]);
  });

  test('is not looked after where the resource is only observed', async () => {
    const { managed, cluster } = await keeping(shows('Published'));
    const finding = await managed.ensureCompanion({ ...wanting, managementPolicy: 'Observe' }, remote);
    expect([finding, cluster.asked()]).toEqual([{ Published: undefined }, []]);
  });

  test.each<[string, KubeObject, boolean, unknown]>([
    ['that the status shows stays', shows('Published'), false, []],
    ['that the cache has stays', object(), true, []],
    ['of which nothing is known is not looked for', object(), false, ownerReferences],
  ])('%s when its object goes', async (_, of, isKnown, expected) => {
    const { managed, find } = await keeping(of, { isKnown });
    await managed.releaseCompanion();
    expect(find()?.metadata.ownerReferences).toEqual(expected);
  });
});

/** What is written beside a resource, and how an object keeps it. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { condition, object } from '../objects.ts';
import { type Circumstances, managing } from './managing.ts';
import { COMPANION } from './placing.ts';

const companion = {
  ...COMPANION,
  condition: 'Published',
  specFor: ({ description }: { description?: string }) => (description ? { description } : undefined),
};
const remote = { id: 'ipp_1', uri: 'https://api.test/ip_policies/ipp_1' };
const policies = { deletionPolicy: 'Delete', managementPolicy: 'Manage' } as const;
const wanting = { ...policies, description: 'any' };
const shows = (reason: string) =>
  object({ status: { conditions: [{ ...condition('Ready', 'True'), type: 'Published', reason }] } });
const owner = { apiVersion: 'v1', kind: 'IPPolicy', name: 'a', uid: 'uid-of-a' };
const existing = object({ uid: 'companion', metadata: { ownerReferences: [owner] } });

async function keeping(of: KubeObject, { isKnown = false, ...more }: Circumstances & { isKnown?: boolean } = {}) {
  const observed: KubeObject[] = [];
  const companions = { has: () => isKnown, observe: (each: KubeObject) => void observed.push(each) };
  const beside = { companions: [existing] };
  const { managed, cluster } = await managing(of, { kind: { companion }, beside, access: { companions }, ...more });
  const find = () => cluster.find('companions', 'a');
  return { managed, cluster, observed, find };
}

const notWanted = { Published: { status: 'False', reason: 'NotPublished', message: 'Not asked for' } };

describe('a companion', () => {
  test('is written where it is wanted, and said to be', async () => {
    const { managed, find, observed } = await keeping(object(), { beside: { companions: [] } });
    const finding = { status: 'True', reason: 'Published', message: 'Written to Companion a' };
    expect(await managed.ensureCompanion(wanting, remote)).toEqual({ Published: finding });
    const found = await find();
    expect(found?.spec).toEqual({ description: 'any' });
    expect(observed).toEqual([found]);
    expect(managed.retryAt).toBeUndefined();
  });

  test('that is refused is tried again, though nothing tells when', async () => {
    const { managed } = await keeping(object(), { beside: { companions: [] }, policy: 'refuses creates' });
    expect(await managed.ensureCompanion(wanting, remote)).toMatchObject({ Published: { reason: 'PublishRefused' } });
    expect(managed.retryAt).toBeInstanceOf(Date);
  });

  test.each<[string, KubeObject, boolean]>([
    ['the status shows', shows('Published'), false],
    ['the cache has', object(), true],
  ])('that %s is removed where it is not wanted', async (_, of, isKnown) => {
    const { managed, find } = await keeping(of, { isKnown });
    expect(await managed.ensureCompanion(policies, remote)).toEqual(notWanted);
    expect(await find()).toBeUndefined();
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

  test.each<[string, KubeObject, boolean, boolean]>([
    ['that the status shows stays', shows('Published'), false, false],
    ['that the cache has stays', object(), true, false],
    ['of which nothing is known is not looked for', object(), false, true],
  ])('%s when its object goes', async (_, of, isKnown, isOwned) => {
    const { managed, find } = await keeping(of, { isKnown });
    await managed.releaseCompanion();
    const found = await find();
    const { uid } = managed.object.metadata;
    expect(found?.metadata).toMatchObject({ name: 'a' });
    expect(found?.metadata.ownerReferences ?? []).toEqual(isOwned ? [{ ...owner, uid }] : []);
  });
});

/** Whose companion is written, taken over, let go of and deleted, on the real API server. */
import { describe, expect, test } from 'vitest';
import type { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import type { KubeObject, OwnerReference } from '../../../src/operator/kube/kube-object.ts';
import { ensureCompanion, releaseCompanion } from '../../../src/operator/managed/companion.ts';
import { object } from '../objects.ts';
import { COMPANION, placing } from './placing.ts';

const of = object({}, { externalId: 'ipp_1' });
const ownerWith = (uid: string): OwnerReference => ({ apiVersion: 'v1', kind: 'IPPolicy', name: 'a', uid });
const [own, other] = [ownerWith('uid-of-a'), ownerWith('uid-of-another')];
const wanted = { size: 1 };

const companion = (ownerReferences: OwnerReference[], annotations = {}, spec: object = wanted) => {
  const { metadata } = object({}, annotations);
  return object({ uid: 'companion', spec, metadata: { ...metadata, uid: 'companion', ownerReferences } });
};

async function having(existing: KubeObject | undefined, given = of) {
  const cluster = await placing({ samples: [given], companions: existing ? [existing] : [] });
  const observed: KubeObject[] = [];
  const known = { has: () => true, observe: (each: KubeObject) => void observed.push(each) };
  const object = cluster.known(given);
  const ensure = (spec?: Record<string, unknown>, kube: KubeApi = cluster.kube, type = COMPANION.type) =>
    ensureCompanion({ kube, known, companion: { ...COMPANION, type } }, object, spec);
  const release = () => releaseCompanion({ kube: cluster.kube, known, companion: COMPANION }, object);
  return { cluster, observed, object, ensure, release, find: () => cluster.find('companions', 'a') };
}

describe('a companion that belongs to the object', () => {
  test.each([
    ['alone', [own]],
    ['and to another', [other, own]],
  ])('%s is left as it is if it is as it is to be', async (_, owners) => {
    const { cluster, ensure, observed, find } = await having(companion(owners));
    expect(await ensure(wanted)).toMatchObject({ status: 'True', reason: 'Published' });
    expect([cluster.writes(), observed]).toEqual([[], [await find()]]);
  });

  test('is changed if it is not', async () => {
    const { cluster, ensure, observed, find, object } = await having(companion([own], {}, { size: 2 }));
    expect(await ensure(wanted)).toMatchObject({ status: 'True', reason: 'Published' });
    const found = await find();
    expect(found).toMatchObject({ spec: wanted, metadata: { ownerReferences: [{ uid: object.metadata.uid }] } });
    expect([cluster.writes().length, observed.at(-1)]).toEqual([1, found]);
  });

  test('is deleted if there is to be none, but not what has come in its place', async () => {
    const { ensure, find } = await having(companion([own]));
    expect([await ensure(), await find()]).toEqual([undefined, undefined]);

    const { cluster, ...replaced } = await having(companion([own]));
    const kube = {
      async find(...asked: Parameters<KubeApi['find']>) {
        const found = await cluster.kube.find(...asked);
        await cluster.remove('companions', 'a');
        await cluster.place('companions', companion([own]));
        return found;
      },
      delete: (...asked: Parameters<KubeApi['delete']>) => cluster.kube.delete(...asked),
    };
    await expect(replaced.ensure(undefined, kube as never)).rejects.toMatchObject({ code: 409 });
    expect(await replaced.find()).toMatchObject({ metadata: { ownerReferences: [{ name: own.name }] } });
  });

  test('is let go of, with the id that a successor knows it by, and stays with its other owners', async () => {
    const { release, find, cluster } = await having(companion([other, own]));
    await release();
    const found = await find();
    expect(found?.metadata).toMatchObject({
      ownerReferences: [other],
      annotations: { 'tunnel-operator.dev/external-id': 'ipp_1' },
    });
    const before = cluster.writes().length;
    await release();
    expect(cluster.writes()).toHaveLength(before);
  });
});

test('a companion that is made belongs to the object', async () => {
  const { ensure, find, object } = await having(undefined);
  await ensure(wanted);
  const { name, uid } = object.metadata;
  const reference = { kind: object.kind, name, uid, controller: true, blockOwnerDeletion: true };
  expect((await find())?.metadata.ownerReferences).toMatchObject([reference]);
});

test.each([
  ['as it is to be', wanted],
  ['otherwise', { size: 2 }],
])('a companion that an earlier object of the resource has left is taken over, if it is %s', async (_, spec) => {
  const { ensure, find, object } = await having(companion([], { externalId: 'ipp_1' }, spec));
  expect(await ensure(wanted)).toMatchObject({ status: 'True' });
  const found = await find();
  expect(found?.metadata.ownerReferences).toMatchObject([{ uid: object.metadata.uid, controller: true }]);
  expect([found?.spec, found?.metadata.annotations ?? {}]).toEqual([wanted, {}]);
});

test.each<[string, KubeObject, KubeObject]>([
  ['belongs to something else', companion([other]), of],
  ['belongs to something else and names the resource', companion([other], { externalId: 'ipp_1' }), of],
  ['belongs to nothing', companion([]), of],
  ['belongs to nothing, as the object to no resource', companion([]), object()],
  ['was left by an object of another resource', companion([], { externalId: 'ipp_2' }), of],
])('a companion that %s is left alone', async (_, existing, given) => {
  const { cluster, ensure, release, find } = await having(existing, given);
  const before = await find();
  expect(await ensure({ size: 3 })).toEqual({
    status: 'False',
    reason: 'PublishConflict',
    message: 'Companion a exists and does not belong to this object: delete it, or rename this object',
  });
  expect(await ensure()).toBeUndefined();
  await release();
  expect([cluster.writes(), await find()]).toEqual([[], before]);
});

test('where the cluster has no such kind, that is said', async () => {
  const { ensure, cluster } = await having(undefined);
  const type = { ...COMPANION.type, plural: 'nothings' };
  expect(await ensure(wanted, cluster.kube, type)).toEqual({
    status: 'False',
    reason: 'KindNotInstalled',
    message: 'the cluster has no nothings.tests.tunnel-operator.dev; install its CustomResourceDefinition',
  });
});

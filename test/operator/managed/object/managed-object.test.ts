/** What a reconcile writes to its object, and what it knows about the object afterwards. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../../../src/client/client.ts';
import { ANNOTATION, FINALIZER } from '../../../../src/operator/contract/names.ts';
import { slim } from '../../../../src/operator/kube/watch-cache.ts';
import { type Finding, StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { refTo } from '../../../../src/operator/managed/declaration/input-schemas.ts';
import { managedSpec } from '../../../../src/operator/managed/declaration/spec.ts';
import { ManagedObject } from '../../../../src/operator/managed/object/managed-object.ts';
import { condition, object } from '../../objects.ts';
import { cluster, deletionTimestamp, policy } from '../knowledge/cluster.ts';
import { managing } from '../managed-under-test.ts';
import { NAMESPACE, SAMPLE } from '../placing.ts';

const PATH = `/apis/tests.tunnel-operator.dev/v1alpha1/namespaces/${NAMESPACE}/samples/a`;
const KEY = `${NAMESPACE}/a`;
const identity = { externalId: 'thg_1', generation: 2, createKey: 'k', retiring: [] };
const found: Finding = { status: 'True', reason: 'Available', message: 'm' };

test('records that an API of a user names are not published, and those that were are removed', async () => {
  const conditions = [{ ...condition('Ready', 'True'), type: 'DNSPublished' }];
  const given = object({ status: { conditions } });
  const { uid } = given.metadata;
  const endpoint = object({
    name: 'a',
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Any', name: 'a', uid }] },
  });
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'none' });
  onTestFinished(() => client.close());
  const of = () => ({ key: 'mine', record: undefined, client, isForeign: true });
  const world = await managing(given, {
    kind: { dnsRecords: () => [{ name: 'www.example.com', type: 'CNAME', target: 'elsewhere.example' }] },
    beside: { dnsendpoints: [endpoint] },
    access: { connections: { of, catchUp: async () => {} } },
  });
  const finding = await world.managed.publishDnsRecords(world.managed.kind.membersOf(given), {
    id: 'thg_1',
    uri: '/thg_1',
  });
  expect(finding).toMatchObject({
    status: 'False',
    reason: 'PublishRefused',
    message: expect.stringContaining('--connection-urls'),
  });
  expect(await world.cluster.find('dnsendpoints', 'a')).toBeUndefined();
});

describe('the identity of an object', () => {
  test.each([
    ['with our finalizer', undefined, [FINALIZER]],
    ['with our finalizer beside those of others', ['other'], ['other', FINALIZER]],
    ['with our finalizer once', [FINALIZER, 'other'], [FINALIZER, 'other']],
  ])('is recorded %s', async (_, finalizers, expected) => {
    const world = await managing(object({ metadata: { ...(finalizers && { finalizers }) } }));
    const { managed, stored, access } = world;
    await managed.persist(identity, { [ANNOTATION.rotateHandledAt]: 't' });
    const now = await stored();
    expect(now.metadata).toMatchObject({
      finalizers: expected,
      annotations: {
        [ANNOTATION.externalId]: 'thg_1',
        [ANNOTATION.createGeneration]: '2',
        [ANNOTATION.createKey]: 'k',
        [ANNOTATION.rotateHandledAt]: 't',
      },
    });
    expect(managed.object).toEqual(now);
    expect(access.cache.store.get(KEY)).toEqual(slim(now));
    expect(world.cluster.writes()).toEqual([`PATCH ${PATH}`]);
  });

  test.each([
    ['strips finalizers', 'metadata.finalizers[tunnel-operator.dev/remote-resource]'],
    ['strips annotations', 'metadata.annotations[tunnel-operator.dev/external-id]'],
  ] as const)('is reported as altered where a policy of the cluster %s', async (policy, field) => {
    const { managed, stored } = await managing(object(), { policy });
    const refusal = { reason: 'KubernetesError', message: expect.stringContaining(field) };
    await expect(managed.persist(identity)).rejects.toMatchObject(refusal);
    expect(managed.object).toEqual(await stored());
  });

  test('is not recorded if the object has changed since it was read', async () => {
    const { managed, stored } = await managing(object(), { isOutdated: true });
    const newer = await stored();
    await expect(managed.persist(identity)).rejects.toMatchObject({ code: 409 });
    expect(await stored()).toEqual(newer);
  });
});

test('removing our finalizer keeps those of others', async () => {
  const { managed, stored } = await managing(object({ metadata: { finalizers: [FINALIZER, 'other'] } }));
  await managed.removeFinalizer();
  expect((await stored()).metadata.finalizers).toEqual(['other']);
  expect(managed.object).toEqual(await stored());
});

describe('a status', () => {
  const before = { id: 'thg_1', uri: 'u', conditions: [condition('Ready', 'False'), condition('Synced', 'True')] };

  test('is written only if it changes, and keeps its other members', async () => {
    const { managed, stored, cluster: api } = await managing(object({ metadata: { generation: 3 }, status: before }));
    await managed.writeStatus({ Ready: found, Synced: undefined }, { uri: undefined, hostname: 'h' });
    expect((await stored()).status).toEqual({
      id: 'thg_1',
      hostname: 'h',
      observedGeneration: -1,
      conditions: [{ type: 'Ready', ...found, observedGeneration: 3, lastTransitionTime: expect.any(String) }],
    });
    await managed.writeStatus({ Ready: found }, { hostname: 'h' });
    expect(api.writes()).toEqual([`PUT ${PATH}/status`]);
    expect(managed.object).toEqual(await stored());
  });

  test('shows a requested reconcile as handled once any reconcile has compared that version', async () => {
    const of = object({ status: { lastHandledReconcileAt: 's' } }, { reconcileRequestedAt: 't' });
    const { managed, stored, access } = await managing(of);
    await managed.writeStatus({}, { uri: 'u' });
    expect((await stored()).status).toMatchObject({ lastHandledReconcileAt: 's' });
    const again = await managing(of);
    again.managed.noteCompared();
    const next = new ManagedObject(again.managed.object, again.access);
    await next.writeStatus({});
    expect((await again.stored()).status).toMatchObject({ lastHandledReconcileAt: 't' });
    expect(access.cache.store.get(KEY)?.status).toMatchObject({ lastHandledReconcileAt: 's' });
  });
});

describe('a spec', () => {
  const ref = refTo([{ title: 'IPPolicy', prefix: 'ipp' }], 'Another.', { isImmutable: true });
  const kind = { spec: z.object({ ...managedSpec, ref }) };

  test('is resolved, and its inputs are known afterwards', async () => {
    const inputs = cluster({ IPPolicy: [policy('office', 'thg_9', { namespace: NAMESPACE, deletionTimestamp })] });
    const references = [{ field: 'spec.ref', id: 'thg_9' }];
    const of = object({ spec: { ref: { name: 'office' } }, status: { references } });
    const { managed } = await managing(of, { kind, inputs });
    expect(managed.tookInputs).toBeUndefined();
    expect(await managed.readSpec()).toMatchObject({ managementPolicy: 'Manage', ref: 'thg_9' });
    expect(managed.inputs).toEqual({ sources: [], references });
    expect(managed.remark).toContain(`IPPolicy ${NAMESPACE}/office is being deleted`);
    expect(managed.tookInputs).toBe(true);
  });

  test('without inputs is known to have none', async () => {
    const { managed } = await managing(object());
    await managed.readSpec();
    expect([managed.inputs, managed.tookInputs]).toEqual([undefined, false]);
  });

  test('may name a resource by id only where adoption is allowed', async () => {
    const of = object({ spec: { ownerId: 'usr_1' } });
    const may = await managing(of, { access: { mayAdopt: (namespace) => namespace === NAMESPACE } });
    await expect(may.managed.readSpec()).resolves.toMatchObject({ managementPolicy: 'Manage' });
    const mayNot = await managing(of, { access: { mayAdopt: () => false } });
    await expect(mayNot.managed.readSpec()).rejects.toMatchObject({ reason: 'AccessDenied' });
  });
});

describe('an object from a cache', () => {
  test.each<[string, number, (managed: ManagedObject) => Promise<void>]>([
    ['read', 1, (managed) => managed.mustBeNewest()],
    ['written', 0, (managed) => managed.persist(identity)],
  ])('is known to be the newest once it was %s', async (_, reads, act) => {
    const { managed, cluster: api } = await managing(object());
    await act(managed);
    await managed.mustBeNewest();
    expect(api.asked().filter((line) => line === `GET ${PATH}`)).toHaveLength(reads);
  });

  test('that is out of date is refused; the newest, with the type that lists omit, replaces it', async () => {
    const { kind: _, apiVersion: __, ...listed } = object();
    const { managed, access, stored } = await managing(listed, { isOutdated: true });
    await expect(managed.mustBeNewest()).rejects.toBeInstanceOf(StaleObject);
    expect(managed.object).toEqual(await stored());
    expect(managed.object.kind).toBe(SAMPLE.kind);
    expect(access.cache.store.get(KEY)).toEqual(slim(managed.object));
  });
});

test('the next reconcile is planned for the earliest of all times', async () => {
  const { managed } = await managing(object());
  const [past, soon, late] = [-3_600_000, 3_600_000, 7_200_000].map((ms) => new Date(Date.now() + ms));
  expect(managed.outcome()).toEqual({ object: managed.object });
  expect(managed.outcome(past)).toEqual({ object: managed.object, requeueAfterMs: 0 });
  expect(managed.outcome(late).requeueAfterMs).toBeGreaterThan(3_600_000);
  expect(managed.retryAt).toBeUndefined();
  for (const at of [late, soon, late]) if (at) managed.retry(at);
  expect(managed.retryAt).toBe(soon);
  managed.retryRefused();
  expect(Number(managed.retryAt)).toBeGreaterThan(Date.now());
  expect(Number(managed.retryAt)).toBeLessThan(Number(soon));
});

/**
 * A random model of two clusters on one API: their operators have different ids. After each step, every object is
 * reconciled, and what is true of every state is checked. MANAGERS_SEED repeats the steps of a run,
 * MANAGERS_STEPS sets their number.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ANNOTATION, GROUP } from '../../src/operator/contract/names.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { cluster, createNamespace } from '../harness.ts';
import { POLICIES, policy } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const SEED = Number(process.env.MANAGERS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = Number(process.env.MANAGERS_STEPS ?? 150);

const CLUSTERS = ['a', 'b'] as const;
type Cluster = (typeof CLUSTERS)[number];
const NAMES = ['x', 'y'] as const;

const at = { cluster: fc.constantFrom(...CLUSTERS), name: fc.constantFrom(...NAMES) };
const text = fc.constantFrom('one', 'two', 'three');
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('create' as const), ...at, text }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('adopt' as const), ...at, text, which: fc.nat() }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('copy' as const), ...at }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('edit' as const), ...at, text }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('edit remote' as const), text, which: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('delete' as const),
      ...at,
      deletionPolicy: fc.constantFrom('Delete', 'Retain'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('take over' as const), ...at, isStale: fc.boolean() }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Seen {
  cluster: Cluster;
  object: KubeObject;
  managerId: string;
  isReady: boolean;
  reason: string | undefined;
  id: string | undefined;
}

describe(`two clusters on one API (seed ${SEED})`, async () => {
  const stack = await startStack({ prefix: 'model', operators: 0 });
  const namespaces = { a: stack.namespace, b: await createNamespace('model') };
  const { kubeconfigPath } = await cluster();
  for (const clusterId of CLUSTERS) {
    const own = { clusterId, namespaces: [namespaces[clusterId]], leaseNamespace: namespaces[clusterId] };
    await stack.operate({ ...own, kubeconfig: kubeconfigPath });
  }
  const { kube, client } = stack;
  const put = (where: Cluster, { metadata, ...rest }: ReturnType<typeof policy>) =>
    kube.create(POLICIES, { ...rest, metadata: { ...metadata, namespace: namespaces[where] } }, namespaces[where]);
  const patch = (where: Cluster, name: string, body: object) => kube.patch(POLICIES, name, body, namespaces[where]);

  async function objects(): Promise<Seen[]> {
    const lists = CLUSTERS.map(async (where) => {
      const { items } = await kube.list(POLICIES, { namespace: namespaces[where] });
      return items.map((object): Seen => {
        const { id, conditions = [] } = readStatus(object);
        const ready = findCondition(conditions, 'Ready');
        const managerId = `${where}/${object.metadata.uid}`;
        return { cluster: where, object, managerId, isReady: ready?.status === 'True', reason: ready?.reason, id };
      });
    });
    return (await Promise.all(lists)).flat();
  }

  /** What the API has, and who manages what, by id. */
  async function remotes() {
    const found = await stack.sql(`
      select id, revision, description, manager_id from ip_policies left join resource_managers on resource_id = id order by id`);
    return found.map(({ id, revision, description, manager_id }) => ({
      id: String(id),
      revision: Number(revision),
      description,
      manager: manager_id === null ? undefined : String(manager_id),
    }));
  }

  /** Reconciles all objects until nothing changes any more. */
  let requests = 0;
  async function settled() {
    for (let before = ''; ; ) {
      const requested = String(requests++);
      for (const { cluster: where, object } of await objects())
        await patch(where, object.metadata.name, {
          metadata: { annotations: { [`${GROUP}/reconcile-requested-at`]: requested } },
        });
      const now = await eventually(async () => {
        const all = await objects();
        for (const { object } of all) expect(readStatus(object).lastHandledReconcileAt).toBe(requested);
        return { objects: all, remotes: await remotes() };
      });
      const state = JSON.stringify([
        now.objects.map(({ managerId, id, reason }) => [managerId, id, reason]),
        now.remotes,
      ]);
      if (state === before) return now;
      before = state;
    }
  }

  const retained = new Set<string>();

  async function take(taken: Step, before: Awaited<ReturnType<typeof settled>>): Promise<void> {
    const remote = 'which' in taken ? before.remotes[taken.which % Math.max(1, before.remotes.length)] : undefined;
    if (taken.what === 'edit remote') {
      if (remote) await client.ipPolicies.update(remote.id, { description: taken.text });
      return;
    }
    const { cluster: where, name } = taken;
    const found = (one: Cluster) =>
      before.objects.find((each) => each.cluster === one && each.object.metadata.name === name);
    const own = found(where);
    switch (taken.what) {
      case 'create':
        if (!own) await put(where, policy(name, { description: taken.text }));
        break;
      case 'adopt':
        if (!own && remote)
          await put(where, policy(name, { description: taken.text }, { [ANNOTATION.adopt]: remote.id }));
        break;
      case 'copy': {
        const original = found(where === 'a' ? 'b' : 'a');
        const { [ANNOTATION.takeOver]: _, ...annotations } = original?.object.metadata.annotations ?? {};
        if (!own && original) await put(where, policy(name, Object(original.object.spec), annotations));
        break;
      }
      case 'edit':
        if (own) await patch(where, name, { spec: { description: taken.text } });
        break;
      case 'delete':
        if (!own) break;
        if (taken.deletionPolicy === 'Retain' && own.isReady && own.id) retained.add(own.id);
        await patch(where, name, { spec: { deletionPolicy: taken.deletionPolicy } });
        await kube.delete(POLICIES, name, namespaces[where]);
        await eventually(async () => expect(await kube.find(POLICIES, name, namespaces[where])).toBeUndefined());
        break;
      case 'take over': {
        const wanted =
          own &&
          String(
            own.object.metadata.annotations?.[ANNOTATION.externalId] ??
              own.object.metadata.annotations?.[ANNOTATION.adopt],
          );
        const manager = before.remotes.find(({ id }) => id === wanted)?.manager;
        const annotations = { [ANNOTATION.takeOver]: taken.isStale ? 'a/gone' : manager };
        if (own && manager) await patch(where, name, { metadata: { annotations } });
      }
    }
  }

  test('no two objects manage one resource, and every object that is Ready has its own', async () => {
    const steps = fc.sample(step, { numRuns: STEPS, seed: SEED });
    let before = await settled();
    const reached = new Set<string | undefined>();
    for (const [number, taken] of steps.entries()) {
      const what = `step ${number}: ${JSON.stringify(taken)}`;
      await take(taken, before);
      const after = await settled();
      // Where another object of the same cluster has precedence, it has had no effect, and would later.
      if (taken.what === 'take over')
        await patch(taken.cluster, taken.name, { metadata: { annotations: { [ANNOTATION.takeOver]: null } } }).catch(
          () => undefined,
        );
      for (const { reason } of after.objects) reached.add(reason);

      const ready = after.objects.filter(({ isReady }) => isReady);
      expect(new Set(ready.map(({ id }) => id)).size, what).toBe(ready.length);
      for (const { id, managerId, object } of ready) {
        const { description } = Object(object.spec);
        expect(
          after.remotes.find((remote) => remote.id === id),
          what,
        ).toMatchObject({ manager: managerId, description });
      }
      const others = after.objects.filter(({ isReady }) => !isReady).map(({ reason }) => reason);
      expect(
        others.filter((reason) => !['ManagementConflict', 'ExternalNotFound'].includes(String(reason))),
        what,
      ).toEqual([]);
      // Whatever is managed by none of them was left on purpose.
      const own = ready.map(({ id }) => id);
      expect(
        after.remotes.map(({ id }) => id).filter((id) => !own.includes(id) && !retained.has(id)),
        what,
      ).toEqual([]);

      const wasManaging = before.objects.filter(({ isReady }) => isReady);
      for (const { id, managerId } of wasManaging) {
        const isStill = after.objects.some((each) => each.managerId === managerId);
        const manager = after.remotes.find((remote) => remote.id === id)?.manager;
        // No other object has it, unless told to take over.
        if (isStill && taken.what !== 'take over') expect(manager, what).toBe(managerId);
        if (isStill && taken.what === 'take over' && taken.isStale) expect(manager, what).toBe(managerId);
      }
      if (taken.what === 'delete') {
        const gone = before.objects.find(
          ({ cluster: where, object }) => where === taken.cluster && object.metadata.name === taken.name,
        );
        // A copy that is deleted takes nothing along.
        if (gone && !gone.isReady) expect(after.remotes, what).toEqual(before.remotes);
      }
      before = after;
    }
    expect(reached).toContain('ManagementConflict');
  });
});

/** Random walks through the valid and the invalid specs of a kind. Only for test files. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect } from 'vitest';
import { asRecord } from '../../dev/fixtures/crd-schema.ts';
import type { Values } from '../../dev/fixtures/placeholders.ts';
import type { DataObject } from '../../dev/fixtures/source-texts.ts';
import { ApiError, isNotFound } from '../../src/client/errors.ts';
import { MANAGED_BY } from '../../src/operator/contract/names.ts';
import { KubeError } from '../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { conditionProblems } from '../settled.ts';
import { type Manifest, manifest, SECRETS } from './manifest.ts';
import { eventually, type Seen, type Stack } from './stack.ts';
import type { State, Walkable } from './walkable.ts';

/** The number of steps by outcome: `refused` by the CRD; `rejected`, later, by the API. */
export interface Steps {
  ready: number;
  rejected: number;
  refused: number;
  waiting: number;
  observed: number;
}

/** A step back to the previous state. */
const BACK = 'back';

/**
 * Walks. After each step, either the resource equals a fresh one of that spec and is not written again, or the object
 * says which field is at fault. At the end, the object recovers and is deleted.
 */
export async function walk(
  stack: Stack,
  walkable: Walkable,
  { name, steps, seed }: { name: string; steps: number; seed: number },
): Promise<Steps> {
  const { row, start, changes } = walkable;
  const counts: Steps = { ready: 0, rejected: 0, refused: 0, waiting: 0, observed: 0 };
  const way = fc.sample(fc.oneof({ weight: 5, arbitrary: changes }, { weight: 1, arbitrary: fc.constant(BACK) }), {
    numRuns: steps,
    seed,
  });
  const states: State[] = [start];
  let settled: KubeObject | undefined;

  const step = async (state: State) => {
    const { spec, objects, body } = walkable.declared(state);
    const before = settled && (await stack.see(row.type, name));
    // Nothing has been written since the last step ended.
    expect(before?.object.metadata.resourceVersion).toBe(settled?.metadata.resourceVersion);
    const resource = before && (await walkable.shown(String(before.status.id)));
    const expected = await freshTwice(walkable, body);
    const isObserved = spec.managementPolicy === 'Observe';
    const putObjects = async () => {
      for (const object of objects) await putObject(stack, object);
    };
    // Not before the object starts to observe: until then, it manages the resource and would follow them.
    if (!isObserved) await putObjects();
    const refusal = await refusalOf(putOwn(stack, row, name, spec));
    if (refusal !== undefined) {
      // The object stays as it was, and the CRD is no stricter than the API.
      expect(refusal).toMatch(/spec\b/);
      expect(expected, refusal).toBeUndefined();
      settled = (await stack.reconciled(row.type, name).catch(() => undefined))?.object;
      counts.refused++;
      return;
    }
    if (isObserved) {
      await stack.reconciled(row.type, name);
      await putObjects();
    }
    // Its status may still be about their previous content.
    if (objects.length > 0) await stack.reconciled(row.type, name);
    await eventually(async () => {
      const { ready, status, object } = await decided(stack, walkable, name);
      if (isObserved) {
        expect(await walkable.shown(String(status.id))).toEqual(resource);
        return;
      }
      if (ready?.reason === 'WaitingForModules') return;
      expect(ready?.status, `${ready?.message}\n${JSON.stringify(spec)}`).toBe(expected ? 'True' : 'False');
      if (!expected) return;
      const seen = await walkable.shown(String(status.id));
      expect(seen, JSON.stringify(spec)).toEqual({ ...seen, ...expected });
      await expectSecret(stack, walkable, object, spec);
    });
    const { ready, object } = await decided(stack, walkable, name);
    if (ready?.status !== 'True') expect(ready?.message).toMatch(/spec\./);
    else expect(conditionProblems(object)).toEqual([]);
    counts[
      ready?.reason === 'WaitingForModules' ? 'waiting' : isObserved ? 'observed' : expected ? 'ready' : 'rejected'
    ]++;
    settled = await expectNoWrite(stack, walkable, name);
  };

  await step(start);
  for (const change of way) {
    const [now = start, earlier = start] = states;
    const next = change === BACK ? earlier : { ...now, ...(change as State) };
    states.unshift(next);
    await step(next);
  }
  await step({ ...start, style: states[0]?.style });
  const { status } = await stack.ready(row.type, name);
  expect(counts.ready).toBeGreaterThan(1);
  await stack.remove(row.type, name);
  const left = await walkable
    .shown(String(status.id))
    .catch((error: unknown) => (isNotFound(error) ? {} : Promise.reject(error)));
  expect(left).toEqual({});
  return counts;
}

/** What two resources of the same body have in common, so not their keys; undefined if the API refuses the body. */
async function freshTwice({ fresh }: Walkable, body: Values): Promise<Values | undefined> {
  try {
    const [one, other] = [await fresh(body), await fresh(body)];
    const isTold = (member: string) => member in body || !TIMES.test(member);
    const common = Object.entries(one).filter(
      ([member, value]) => isTold(member) && isDeepStrictEqual(value, other[member]),
    );
    return Object.fromEntries(common);
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return undefined;
    throw error;
  }
}

/** Members that are equal by chance if both are created within one second. */
const TIMES = /_at$|^valid_/;

/** Waits until the present generation is Ready, finally refused, or waiting for modules. */
async function decided(stack: Stack, { row }: Walkable, name: string): Promise<Seen> {
  return eventually(async () => {
    const seen = await stack.see(row.type, name);
    const { generation } = seen.object.metadata;
    expect(seen.ready).toMatchObject({ observedGeneration: generation });
    const decisions = ['True/Available', 'False/Rejected', 'False/SourceInvalid', 'False/WaitingForModules'];
    expect(decisions, seen.ready?.message).toContain(`${seen.ready?.status}/${seen.ready?.reason}`);
    return seen;
  });
}

/** Requests a reconcile and expects no write: not to the API, the Secrets or, but for the request, the object. */
async function expectNoWrite(stack: Stack, { row }: Walkable, name: string): Promise<KubeObject> {
  const before = await stack.see(row.type, name);
  const secrets = await secretsOf(stack, before.object);
  const events = await writes(stack, String(before.status.id));
  const after = await stack.reconciled(row.type, name);
  expect(await writes(stack, String(before.status.id)), 'a second reconcile wrote to the API').toBe(events);
  expect(await secretsOf(stack, before.object), 'a second reconcile wrote a Secret').toEqual(secrets);
  expect({ ...after.status, lastHandledReconcileAt: '' }).toEqual({ ...before.status, lastHandledReconcileAt: '' });
  return after.object;
}

/** How often the resource was written to. */
async function writes(stack: Stack, id: string): Promise<number> {
  const [row] = await stack.sql('select count(*)::int as n from events where resource_id = $1', [id.split('/').at(-1)]);
  return Number(row?.n);
}

async function secretsOf({ kube, namespace }: Stack, { metadata }: KubeObject): Promise<KubeObject[]> {
  const { items } = await kube.list(SECRETS, { namespace });
  return items.filter((secret) => secret.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid));
}

/** Expects exactly one Secret, as the spec describes it. */
async function expectSecret(stack: Stack, { kind }: Walkable, object: KubeObject, spec: Values): Promise<void> {
  if (!kind.delivery) return;
  const { handout } = kind.delivery;
  const { name = `${object.metadata.name}${handout.suffix}`, key = handout.key, template } = asRecord(spec.secret);
  const { labels, annotations } = asRecord(template);
  const [secret, ...more] = await secretsOf(stack, object);
  expect(more).toEqual([]);
  expect(secret?.metadata.name).toBe(name);
  expect(Object.keys(asRecord(secret?.data)).toSorted()).toEqual([key, handout.idKey].toSorted());
  expect(secret?.metadata.labels).toEqual({ ...asRecord(labels), [MANAGED_BY.label]: MANAGED_BY.value });
  const own = Object.entries(secret?.metadata.annotations ?? {}).filter(([each]) => each.startsWith('example.com/'));
  expect(Object.fromEntries(own)).toEqual(asRecord(annotations));
}

const TYPES = { Secret: SECRETS, ConfigMap: { ...SECRETS, plural: 'configmaps' } };

async function putObject({ kube, namespace }: Stack, object: DataObject): Promise<void> {
  const type = TYPES[object.kind];
  const { name } = object.metadata;
  const exists = await kube.find(type, name, namespace);
  await (exists ? kube.replace(type, name, object, namespace) : kube.create(type, object, namespace));
}

/** As `kubectl replace` and `kubectl create` do, at a small part of their cost. */
async function putOwn({ kube, namespace }: Stack, row: Walkable['row'], name: string, spec: object): Promise<void> {
  const wanted: Manifest = manifest(row.name, name, spec);
  const current = await kube.find(row.type, name, namespace);
  try {
    if (current) await kube.replace(row.type, name, { ...current, spec }, namespace);
    else await kube.create(row.type, wanted, namespace);
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 409) throw error;
    await putOwn({ kube, namespace } as Stack, row, name, spec);
  }
}

/** The message of the refusal; undefined if it was accepted. */
async function refusalOf(put: Promise<void>): Promise<string | undefined> {
  try {
    await put;
    return undefined;
  } catch (error) {
    if (error instanceof KubeError && error.code === 422) return error.message;
    throw error;
  }
}

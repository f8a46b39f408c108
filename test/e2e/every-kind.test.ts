/**
 * Every kind: its fields reach the API and are read back, and everything that the shared reconcile does works for it.
 * The other files cover the details with two kinds.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Declaration, type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { fromConfigMap, fromSecret, type SourceStyle } from '../../dev/fixtures/source-texts.ts';
import { modulesRows } from '../../dev/fixtures/story-rows.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { someOf } from '../tier.ts';
import { manifest } from './manifest.ts';
import { API_KEY, eventually, startStack } from './stack.ts';

const rows = someOf(kindRows);
const stack = await startStack({ prefix: 'kinds', settings: { resyncMs: 300 } });
const { client } = stack;
const post = postTo(stack.api.url, API_KEY);

const record = z.record(z.string(), z.unknown());

/** Counts declarations, so that no two objects share a number. */
let numbers = 0;
const declare = (row: KindRow, source?: SourceStyle) => row.declare(post, ++numbers, source);

const apply = (
  row: KindRow,
  name: string,
  { spec, objects }: Pick<Declaration, 'spec' | 'objects'>,
  annotations = {},
) => stack.apply(...objects, manifest(row.name, name, spec, annotations));

/** Creates an object and waits until it is ready; returns its id. */
async function made(row: KindRow, name: string, declaration: Declaration) {
  await apply(row, name, declaration);
  return stack.idOf(row.type, name);
}

const remote = (row: KindRow, id: string) => row.kind.calls(client).get(id);

describe('every kind', () => {
  test.concurrent.for(rows)(
    '$name is created from the required fields, follows changes and is deleted',
    async (row) => {
      const { type } = row;
      const name = `${type.plural}-contract`;
      const { least, steps } = await declare(row);
      const id = await made(row, name, least);
      const resource = await remote(row, id);
      expect(resource).toMatchObject(least.remote);
      const { status: shown, object } = await stack.see(type, name);
      expect(shown).toMatchObject({ id, uri: resource.uri, observedGeneration: 1 });
      expect(object.metadata.annotations?.[ANNOTATION.externalId]).toBe(id);

      for (const step of steps) {
        await apply(row, name, step);
        const { status } = await stack.ready(type, name);
        expect(await remote(row, String(status.id))).toMatchObject(step.remote);
        if (row.replaced.length === 0) expect(status.id).toBe(id);
      }
      const { status } = await stack.see(type, name);
      await stack.remove(type, name);
      const left = await stack.remoteIds();
      expect(left).not.toContain(id);
      expect(left).not.toContain(status.id);
    },
  );

  test.concurrent.for(rows)('$name is observed without a write, adopted, and retained', async (row) => {
    const { type, kind } = row;
    const name = `${type.plural}-adopted`;
    const { another: theirs, changed: ours } = await declare(row);
    const { id } = await kind.calls(client).create(theirs.body);
    const observed = { ...ours, spec: { ...ours.spec, managementPolicy: 'Observe' } };
    await apply(row, name, observed, { [ANNOTATION.adopt]: id });
    const { synced } = await stack.reason(type, name, 'Synced', 'Observed');
    expect(synced?.message).toMatch(/differs in spec\./);
    expect(await remote(row, id)).toMatchObject(theirs.remote);

    const retained = { ...ours, spec: { ...ours.spec, deletionPolicy: 'Retain' } };
    await apply(row, name, retained, { [ANNOTATION.adopt]: id });
    await eventually(async () => expect(await remote(row, id)).toMatchObject(ours.remote));
    await eventually(async () => expect((await stack.see(type, name)).synced?.reason).toBe('UpToDate'));
    expect((await stack.see(type, name)).status.id).toBe(id);
    await stack.remove(type, name);
    expect(await remote(row, id)).toMatchObject(ours.remote);
    await kind.calls(client).delete(id);
  });

  test.concurrent.for(rows)(
    '$name is refused by the API server without a required field, or with one that is unknown, too long or mistyped',
    async (row) => {
      const name = `${row.type.plural}-refused`;
      const { spec } = (await declare(row)).another;
      const refused = async (wrong: object, field: string, reason: string | RegExp) => {
        const { code, stderr } = await stack.tryApply(manifest(row.name, name, wrong), '--dry-run=server');
        expect(code, `${field} was accepted`).toBe(1);
        expect(stderr).toContain(`spec.${field}`);
        expect(stderr).toMatch(reason);
      };
      await refused({ ...spec, descripton: 'typo' }, 'descripton', 'unknown field');
      for (const member of row.required) {
        await refused({ ...spec, [member]: undefined }, member, 'Required value');
      }
      for (const limit of row.limits) {
        const euros = '€'.repeat(Math.ceil((limit.max + 1) / 3));
        await refused({ ...spec, ...limit.with(euros) }, limit.path, `at most ${limit.max} bytes`);
        await refused({ ...spec, ...limit.with(7) }, limit.path, /must be of type string|expected string/);
      }
    },
  );

  test.concurrent.for(rows.filter(({ immutable }) => immutable.length > 0))(
    '$name cannot have an immutable field added, changed or removed',
    async (row) => {
      const name = `${row.type.plural}-immutable`;
      const { least, another, unlike } = await declare(row);
      for (const declared of [another, least]) {
        await apply(row, name, declared);
        for (const member of row.immutable) {
          for (const value of member in declared.spec ? [unlike[member], undefined] : [unlike[member]]) {
            const { code, stderr } = await stack.tryApply(
              manifest(row.name, name, { ...declared.spec, [member]: value }),
            );
            expect(code).toBe(1);
            expect(stderr).toMatch(new RegExp(`spec.${member}: .*(is immutable|Required value)`));
          }
        }
        await stack.remove(row.type, name);
      }
    },
  );

  test.concurrent.for(rows.filter(({ replaced }) => replaced.length > 0))(
    '$name is replaced when a field changes that the API cannot update, and the old resource is deleted',
    async (row) => {
      const { type, replaced } = row;
      const name = `${type.plural}-replaced`;
      const [one, other] = [(await declare(row)).another, (await declare(row)).another];
      const id = await made(row, name, one);
      const spec = { ...one.spec, ...Object.fromEntries(replaced.map((member) => [member, other.spec[member]])) };
      await apply(row, name, { spec, objects: other.objects });
      const again = await stack.newIdOf(type, name, id);
      await eventually(async () => expect(await stack.remoteIds()).not.toContain(id));
      expect(await stack.remoteIds()).toContain(again);
      await stack.remove(type, name);
      expect(await stack.remoteIds()).not.toContain(again);
    },
  );

  const styles = [
    ['a Secret', fromSecret],
    ['a ConfigMap', fromConfigMap],
  ] as const;
  const sourced = rows.filter(({ hasSources }) => hasSources);
  test.concurrent.for(sourced.flatMap((row) => styles.map(([from, style]) => ({ ...row, row, from, style }))))(
    '$name takes text from $from, and follows changes of the text',
    async ({ row, from, style }) => {
      const { type } = row;
      const name = `${type.plural}-from-${from.split(' ').at(-1)?.toLowerCase()}`;
      const { another, changed } = await declare(row, style);
      await apply(row, name, another);
      const { status } = await stack.ready(type, name);
      expect(await remote(row, String(status.id))).toMatchObject(another.remote);
      // The spec names the same object, which now has another text.
      await apply(row, name, changed);
      await eventually(async () => {
        const { status: now } = await stack.ready(type, name);
        expect(await remote(row, String(now.id))).toMatchObject(changed.remote);
      });
      await stack.remove(type, name);
    },
  );
});

/** Waits for an Event that reports these fields as reverted. */
const isReported = (name: string, members: readonly string[]) =>
  eventually(async () => {
    const told = (await stack.events(name)).filter(({ reason }) => reason === 'DriftCorrected');
    const named = told.map(({ message }) => message.match(/(?<=spec\.)[\w.]+/g) ?? []);
    expect(named).toContainEqual(expect.arrayContaining([...members]));
  });

describe('a change made directly in the API', () => {
  test.concurrent.for(rows)(
    'is reverted in each field of $name and reported; a deleted resource is recreated',
    async (row) => {
      const { type } = row;
      const name = `${type.plural}-drifted`;
      const { another, drifts } = await declare(row);
      const { get, update, delete: remove } = row.kind.calls(client);
      const id = await made(row, name, another);
      const before = await get(id);
      expect(await update(id, Object.assign({}, ...drifts.map(({ body }) => body)))).not.toEqual(before);
      await eventually(async () => expect(await get(id)).toEqual(before));
      await isReported(
        name,
        drifts.map(({ member }) => member),
      );

      await remove(id);
      const again = await stack.newIdOf(type, name, id);
      expect(await get(again)).toMatchObject(another.remote);
      await stack.remove(type, name);
    },
  );

  test.concurrent.for(someOf(modulesRows))('is reverted in each module of $name and reported', async (row) => {
    const name = `${row.type.plural}-drifted`;
    const { whole, drifts, ownerId } = await row.declare(post, ++numbers);
    const external = row.attached.external(client);
    const modules = async () => z.object({ modules: record }).parse(await external.observe(ownerId)).modules;
    await stack.apply(manifest(row.name, name, whole.spec));
    await stack.ready(row.type, name);
    const before = await modules();
    expect(before).toMatchObject(record.parse(whole.remote.modules));
    for (const { name: module, member, calls } of row.attached.modules) {
      const own = drifts.filter((drift) => drift.module.name === module);
      await calls(client, ownerId).put(Object.assign({}, whole.body[module], ...own.map(({ body }) => body)));
      await isReported(
        name,
        own.map((drift) => drift.member),
      );
      await eventually(async () => expect(await modules()).toEqual(before));
      await calls(client, ownerId).delete();
      await isReported(name, [member]);
      await eventually(async () => expect(await modules()).toEqual(before));
    }
    await stack.remove(row.type, name);
    expect(await modules()).toEqual({});
  });
});

test('repeated resyncs of one object of each kind in its steady state write nothing', async () => {
  for (const row of rows) await made(row, `${row.type.plural}-steady`, (await declare(row)).another);
  const versions = async () => {
    const lists = await Promise.all(rows.map(({ type }) => stack.kube.list(type, { namespace: stack.namespace })));
    return lists.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`));
  };
  const resyncs = ({ name }: KindRow) =>
    stack.metric('tunnel_operator_resyncs_total', { kind: name, result: 'success' });
  const compared = async () => {
    // Reads all counters before it waits for the first, since the resyncs run at the same time.
    const before = await Promise.all(rows.map(resyncs));
    for (const [at, row] of rows.entries()) {
      await eventually(async () => expect(await resyncs(row)).toBeGreaterThan((before[at] ?? 0) + 2));
    }
  };
  await compared();
  const before = { versions: await versions(), changes: await stack.sql('select count(*) as n from events') };
  await compared();
  expect({ versions: await versions(), changes: await stack.sql('select count(*) as n from events') }).toEqual(before);
});

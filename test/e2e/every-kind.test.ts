/**
 * What holds for every kind: its fields reach the API and come back, and it takes part in everything that the one
 * reconcile does. The other files show the details with two kinds.
 */
import { describe, expect, test } from 'vitest';
import { type Declaration, type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { fromConfigMap, fromSecret, type SourceStyle } from '../../dev/fixtures/source-texts.ts';
import { someOf } from '../tier.ts';
import { API_KEY, eventually, manifest, startStack } from './stack.ts';

const rows = someOf(kindRows);
const stack = await startStack({ prefix: 'kinds', settings: { resyncMs: 300 } });
const { client } = stack;
const post = postTo(stack.api.url, API_KEY);

const ADOPT = 'tunnel-operator.dev/adopt';

/** Numbers that no two objects share. */
let numbers = 0;
const declare = (row: KindRow, source?: SourceStyle) => row.declare(post, ++numbers, source);

const apply = (
  row: KindRow,
  name: string,
  { spec, objects }: Pick<Declaration, 'spec' | 'objects'>,
  annotations = {},
) => stack.apply(...objects, manifest(row, name, spec, annotations));

/** One that is ready, with its id. */
async function made(row: KindRow, name: string, declaration: Declaration) {
  await apply(row, name, declaration);
  return String((await stack.ready(row.type, name)).status.id);
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
      expect((await stack.see(type, name)).status).toMatchObject({ id, uri: resource.uri, observedGeneration: 1 });

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
    await apply(row, name, observed, { [ADOPT]: id });
    const { synced } = await stack.reason(type, name, 'Synced', 'Observed');
    expect(synced?.message).toMatch(/differs in spec\./);
    expect(await remote(row, id)).toMatchObject(theirs.remote);

    const retained = { ...ours, spec: { ...ours.spec, deletionPolicy: 'Retain' } };
    await apply(row, name, retained, { [ADOPT]: id });
    await eventually(async () => expect(await remote(row, id)).toMatchObject(ours.remote));
    await eventually(async () => expect((await stack.see(type, name)).synced?.reason).toBe('UpToDate'));
    expect((await stack.see(type, name)).status.id).toBe(id);
    await stack.remove(type, name);
    expect(await remote(row, id)).toMatchObject(ours.remote);
    await kind.calls(client).delete(id);
  });

  test.concurrent.for(rows)(
    '$name is refused at once without what it must have, and with what it has not',
    async (row) => {
      const name = `${row.type.plural}-refused`;
      const { spec } = (await declare(row)).another;
      const refused = async (wrong: object, field: string, reason: string | RegExp) => {
        const { code, stderr } = await stack.tryApply(manifest(row, name, wrong), '--dry-run=server');
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
    '$name keeps what cannot be changed, there or not there',
    async (row) => {
      const name = `${row.type.plural}-immutable`;
      const { least, another, unlike } = await declare(row);
      for (const declared of [another, least]) {
        await apply(row, name, declared);
        for (const member of row.immutable) {
          for (const value of member in declared.spec ? [unlike[member], undefined] : [unlike[member]]) {
            const { code, stderr } = await stack.tryApply(manifest(row, name, { ...declared.spec, [member]: value }));
            expect(code).toBe(1);
            expect(stderr).toMatch(new RegExp(`spec.${member}: .*(is immutable|Required value)`));
          }
        }
        await stack.remove(row.type, name);
      }
    },
  );

  test.concurrent.for(rows.filter(({ immutable }) => immutable.length > 0))(
    '$name says when what it adopts has another value for good, and lets go of it unharmed',
    async (row) => {
      const { type, kind, immutable } = row;
      const name = `${type.plural}-unlike`;
      const { another, unlike } = await declare(row);
      const { id } = await kind.calls(client).create(another.body);
      await apply(row, name, { ...another, spec: { ...another.spec, ...unlike } }, { [ADOPT]: id });
      const { ready } = await stack.reason(type, name, 'Ready', 'Rejected');
      const fields = immutable.map((member) => `spec.${member}`).join(', ');
      expect(ready?.message).toContain(`${id} differs in ${fields}, which cannot be changed`);
      await stack.remove(type, name);
      expect(await remote(row, id)).toMatchObject(another.remote);
      await kind.calls(client).delete(id);
    },
  );

  test.concurrent.for(rows.filter(({ replaced }) => replaced.length > 0))(
    '$name is made anew when what the API cannot change is changed, and the old one goes',
    async (row) => {
      const { type, replaced } = row;
      const name = `${type.plural}-replaced`;
      const [one, other] = [(await declare(row)).another, (await declare(row)).another];
      const id = await made(row, name, one);
      const spec = { ...one.spec, ...Object.fromEntries(replaced.map((member) => [member, other.spec[member]])) };
      await apply(row, name, { spec, objects: other.objects });
      const again = await eventually(async () => {
        const { status } = await stack.ready(type, name);
        expect(status.id).not.toBe(id);
        return String(status.id);
      });
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
    '$name takes text from $from, and follows it',
    async ({ row, from, style }) => {
      const { type } = row;
      const name = `${type.plural}-from-${from.split(' ').at(-1)?.toLowerCase()}`;
      const { another, changed } = await declare(row, style);
      await apply(row, name, another);
      const { status } = await stack.ready(type, name);
      expect(await remote(row, String(status.id))).toMatchObject(another.remote);
      // The object itself stays as it is but for the text.
      await apply(row, name, changed);
      await eventually(async () => {
        const { status: now } = await stack.ready(type, name);
        expect(await remote(row, String(now.id))).toMatchObject(changed.remote);
      });
      await stack.remove(type, name);
    },
  );
});

test('a steady state of one object of each kind writes nothing, however often it is compared', async () => {
  for (const row of rows) await made(row, `${row.type.plural}-steady`, (await declare(row)).another);
  const versions = async () => {
    const lists = await Promise.all(rows.map(({ type }) => stack.kube.list(type, { namespace: stack.namespace })));
    return lists.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`));
  };
  const resyncs = ({ name }: KindRow) =>
    stack.metric('tunnel_operator_resyncs_total', { kind: name, result: 'success' });
  const compared = async () => {
    // Of all, before it waits for the first: they are compared at the same time.
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

const levels = rows.flatMap((row) => ['spec', 'status'].map((part) => ({ ...row, part })));

// Of what lies deeper, test/operator/kinds/family-fields.test.ts reads the CRDs.
test.for(levels)('every member of the $part of $name is explained', async ({ type, kind, part }) => {
  const { stdout } = await stack.run('explain', `${type.plural}.${part}`);
  const members = stdout.split(/^ {2}(?=\w+\t)/m).slice(1);
  expect(stdout).toContain(kind.kind);
  expect(members.length).toBeGreaterThan(0);
  expect(members.filter((member) => member.includes('<no description>'))).toEqual([]);
});

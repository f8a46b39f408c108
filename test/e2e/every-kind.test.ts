/**
 * What holds for every kind: its fields reach the API and come back, and it takes part in everything that the one
 * reconcile does. The other files show the details with two kinds.
 */
import { describe, expect, test } from 'vitest';
import { type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { eventually, manifest, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'kinds', settings: { resyncMs: 300 } });
const { client } = stack;

const ADOPT = 'tunnel-operator.dev/adopt';

/** One that is ready, with its id. */
async function made(row: KindRow, name: string, spec: object) {
  await stack.apply(manifest(row, name, spec));
  return String((await stack.ready(row.type, name)).status.id);
}

const remote = (row: KindRow, id: string) => row.kind.calls(client).get(id);

/** Numbers that no two objects share. */
let numbers = 0;
const next = () => ++numbers;

describe('every kind', () => {
  test.concurrent.for(kindRows)(
    '$name is created from the required fields, follows changes and is deleted',
    async (row) => {
      const { type } = row;
      const name = `${type.plural}-contract`;
      const n = next();
      const least = row.least(n);
      const id = await made(row, name, least.spec);
      const resource = await remote(row, id);
      expect(resource).toMatchObject(least.remote);
      expect((await stack.see(type, name)).status).toMatchObject({ id, uri: resource.uri, observedGeneration: 1 });

      for (const { spec, remote: wanted } of [row.another(n), row.changed(n), least]) {
        await stack.apply(manifest(row, name, spec));
        await stack.ready(type, name);
        expect(await remote(row, id)).toMatchObject(wanted);
      }
      await stack.remove(type, name);
      expect(await stack.remoteIds()).not.toContain(id);
    },
  );

  test.concurrent.for(kindRows)(
    '$name is set back when it is changed in the API, and made again when it is gone',
    async (row) => {
      const { type } = row;
      const name = `${type.plural}-drift`;
      const n = next();
      const wanted = row.another(n);
      const id = await made(row, name, wanted.spec);
      await row.kind.calls(client).update(id, row.drift(n));
      const { synced } = await stack.reason(type, name, 'Synced', 'DriftCorrected');
      expect(synced?.message).toContain('spec.');
      expect(await remote(row, id)).toMatchObject(wanted.remote);

      await row.kind.calls(client).delete(id);
      const again = await eventually(async () => {
        const { status } = await stack.ready(type, name);
        expect(status.id).not.toBe(id);
        return String(status.id);
      });
      expect(await remote(row, again)).toMatchObject(wanted.remote);
      await stack.remove(type, name);
    },
  );

  test.concurrent.for(kindRows)('$name is observed without a write, adopted, and retained', async (row) => {
    const { type, kind } = row;
    const name = `${type.plural}-adopted`;
    const n = next();
    const theirs = row.another(n);
    const ours = row.changed(n);
    const { id } = await kind.calls(client).create(theirs.remote);
    await stack.apply(manifest(row, name, { ...ours.spec, managementPolicy: 'Observe' }, { [ADOPT]: id }));
    const { synced } = await stack.reason(type, name, 'Synced', 'Observed');
    expect(synced?.message).toMatch(/differs in spec\./);
    expect(await remote(row, id)).toMatchObject(theirs.remote);

    await stack.apply(manifest(row, name, { ...ours.spec, deletionPolicy: 'Retain' }, { [ADOPT]: id }));
    await eventually(async () => expect(await remote(row, id)).toMatchObject(ours.remote));
    await eventually(async () => expect((await stack.see(type, name)).synced?.reason).toBe('UpToDate'));
    expect((await stack.see(type, name)).status.id).toBe(id);
    await stack.remove(type, name);
    expect(await remote(row, id)).toMatchObject(ours.remote);
    await kind.calls(client).delete(id);
  });

  test.concurrent.for(kindRows)(
    '$name is refused at once without what it must have, and with what it has not',
    async (row) => {
      const name = `${row.type.plural}-refused`;
      const { spec } = row.another(next());
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
      for (const [member, maxBytes] of Object.entries(row.limits)) {
        const euros = '€'.repeat(Math.ceil((maxBytes + 1) / 3));
        await refused({ ...spec, [member]: euros }, member, `at most ${maxBytes} bytes`);
        await refused({ ...spec, [member]: 7 }, member, /must be of type string|expected string/);
      }
    },
  );

  test.concurrent.for(kindRows.filter(({ immutable }) => immutable.length > 0))(
    '$name keeps what cannot be changed, there or not there',
    async (row) => {
      const name = `${row.type.plural}-immutable`;
      const { spec } = row.another(next());
      const { spec: other } = row.another(next());
      await stack.apply(manifest(row, name, spec));
      for (const member of row.immutable) {
        const values = member in spec ? [other[member], undefined] : [row.example(member)];
        for (const value of values.filter((each) => each !== spec[member])) {
          const { code, stderr } = await stack.tryApply(manifest(row, name, { ...spec, [member]: value }));
          expect(code).toBe(1);
          expect(stderr).toMatch(new RegExp(`spec.${member}: .*(is immutable|Required value)`));
        }
      }
      await stack.remove(row.type, name);
    },
  );

  test.concurrent.for(kindRows.filter(({ immutable }) => immutable.length > 0))(
    '$name says when what it adopts has another value for good, and lets go of it unharmed',
    async (row) => {
      const { type, kind, immutable } = row;
      const name = `${type.plural}-unlike`;
      const { spec, remote: theirs } = row.another(next());
      const { id } = await kind.calls(client).create(theirs);
      const others = Object.fromEntries(immutable.map((member) => [member, row.example(member)]));
      await stack.apply(manifest(row, name, { ...spec, ...others }, { [ADOPT]: id }));
      const { ready } = await stack.reason(type, name, 'Ready', 'Rejected');
      const fields = immutable.map((member) => `spec.${member}`).join(', ');
      expect(ready?.message).toContain(`${id} differs in ${fields}, which cannot be changed`);
      await stack.remove(type, name);
      expect(await remote(row, id)).toMatchObject(theirs);
      await kind.calls(client).delete(id);
    },
  );
});

test('a steady state of one object of each kind writes nothing, however often it is compared', async () => {
  for (const row of kindRows) await made(row, `${row.type.plural}-steady`, row.another(next()).spec);
  const versions = async () => {
    const lists = await Promise.all(kindRows.map(({ type }) => stack.kube.list(type, { namespace: stack.namespace })));
    return lists.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`));
  };
  const compared = async () => {
    for (const { name } of kindRows) {
      const resyncs = () => stack.metric('tunnel_operator_resyncs_total', { kind: name, result: 'success' });
      const before = await resyncs();
      await eventually(async () => expect(await resyncs()).toBeGreaterThan(before + 2));
    }
  };
  await compared();
  const before = { versions: await versions(), changes: await stack.sql('select count(*) as n from events') };
  await compared();
  expect({ versions: await versions(), changes: await stack.sql('select count(*) as n from events') }).toEqual(before);
});

test.for(kindRows)('every member of the spec of $name is explained', async ({ type, kind }) => {
  const { stdout } = await stack.run('explain', `${type.plural}.spec`);
  const undescribed = [...stdout.matchAll(/^ {2}(\w+)\t.*\n {4}<no description>/gm)].map(([, member]) => member);
  expect(stdout).toContain(kind.kind);
  expect(undescribed).toEqual([]);
});

/** Modules that an object only reads, for a while or for ever. */
import { expect, test } from 'vitest';
import { EDGE_MODULES, isRestricted as isOnEdge, restricting } from './restriction.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'observed', settings: { resyncMs: 300 } });
const { client } = stack;

const policy = (await client.ipPolicies.create({})).id;
const put = (id: string) => client.tlsEdgeModules(id).ipRestriction.put({ ip_policy_ids: [policy] });

const object = (name: string, id: string, more: object = {}) => restricting(name, id, [policy], more);
const observing = { managementPolicy: 'Observe' };

const isRestricted = (id: string) => isOnEdge(client, id);

test('are only read, also when somebody changes them', async () => {
  const { id } = await client.tlsEdges.create({});
  await stack.apply(object('seen', id, observing));
  const { synced } = await stack.reason(EDGE_MODULES, 'seen', 'Synced', 'Observed');
  expect(synced?.message).toBe('Only observed; differs in spec.ipRestriction');
  expect(await isRestricted(id)).toBe(false);
  await put(id);
  await eventually(async () => {
    const seen = await stack.see(EDGE_MODULES, 'seen');
    expect(seen.synced?.message).toBe('Only observed');
    expect(seen.status.modules).toEqual(['ipRestriction']);
  });
  await stack.remove(EDGE_MODULES, 'seen');
  expect(await isRestricted(id)).toBe(true);
  await client.tlsEdges.delete(id);
});

test('of another owner are read once the ones before are managed by another object', async () => {
  const [own, strange] = [await client.tlsEdges.create({}), await client.tlsEdges.create({})];
  await put(strange.id);
  await stack.apply(object('before', own.id));
  await stack.ready(EDGE_MODULES, 'before');
  await stack.apply(object('before', own.id, observing), object('after', own.id));
  await stack.ready(EDGE_MODULES, 'after');
  await stack.apply(object('before', strange.id, observing));
  await eventually(async () => expect((await stack.see(EDGE_MODULES, 'before')).status.id).toBe(strange.id));
  await stack.reason(EDGE_MODULES, 'before', 'Synced', 'Observed');
  await stack.reconciled(EDGE_MODULES, 'before');
  // What it has only observed it does not take with it, wherever it goes.
  await stack.apply(object('before', own.id));
  await stack.reason(EDGE_MODULES, 'before', 'Ready', 'ManagementConflict');
  for (const name of ['before', 'after']) await stack.remove(EDGE_MODULES, name);
  expect([await isRestricted(own.id), await isRestricted(strange.id)]).toEqual([false, true]);
  for (const { id } of [own, strange]) await client.tlsEdges.delete(id);
});

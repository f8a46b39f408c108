/** Modules of an object that is deleted while another one declares some for the same owner. */
import { expect, test } from 'vitest';
import { EDGE_MODULES, isRestricted as isOnEdge, restricting } from './restriction.ts';
import { eventually, manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'handed', settings: { resyncMs: 300 } });
const { client } = stack;

const policy = (await client.ipPolicies.create({})).id;
const edge = async () => (await client.tlsEdges.create({})).id;

const declare = (name: string, id: string, policies = [policy]) => stack.apply(restricting(name, id, policies));
const isRestricted = (id: string) => isOnEdge(client, id);

test('what it had before goes, and what it was to have is the other one’s', async () => {
  const [before, wanted] = [await edge(), await edge()];
  await declare('first', before);
  await stack.ready(EDGE_MODULES, 'first');
  const gone = (await client.ipPolicies.create({})).id;
  await client.ipPolicies.delete(gone);
  await declare('first', wanted, [gone]);
  await eventually(async () => expect((await stack.see(EDGE_MODULES, 'first')).status).toMatchObject({ id: wanted }));
  await eventually(async () => expect((await stack.see(EDGE_MODULES, 'first')).ready?.status).toBe('False'));
  await declare('second', wanted);
  await stack.reason(EDGE_MODULES, 'second', 'Ready', 'ManagementConflict');
  expect(await isRestricted(before)).toBe(true);
  await stack.remove(EDGE_MODULES, 'first');
  await stack.ready(EDGE_MODULES, 'second');
  expect([await isRestricted(before), await isRestricted(wanted)]).toEqual([false, true]);
  await stack.remove(EDGE_MODULES, 'second');
  for (const id of [before, wanted]) await client.tlsEdges.delete(id);
});

test('where nothing may be adopted, the second takes over, too', async () => {
  // Without a resync: who waits has to be woken.
  await stack.restart(undefined, { adoptNamespaces: [], resyncMs: 3_600_000 });
  const apply = (name: string) =>
    stack.apply(
      manifest({ name: 'TunnelGroupBackend' }, name, { labels: { app: name } }),
      manifest({ name: 'TLSEdgeModules' }, name, {
        tlsEdgeRef: { name: 'shared' },
        backend: { backendRef: { kind: 'TunnelGroupBackend', name } },
      }),
    );
  await stack.apply(manifest({ name: 'TLSEdge' }, 'shared'));
  await apply('first');
  await stack.ready(EDGE_MODULES, 'first');
  await apply('second');
  await stack.reason(EDGE_MODULES, 'second', 'Ready', 'ManagementConflict');
  await stack.remove(EDGE_MODULES, 'first');
  await stack.ready(EDGE_MODULES, 'second');
  await stack.remove(EDGE_MODULES, 'second');
  await stack.remove(ours('tlsedges'), 'shared');
});

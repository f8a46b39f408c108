/** What becomes of the modules that an object had, once and now, when it is deleted while others declare some. */
import { expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { HOLD } from './deletions.ts';
import { EDGE_MODULES, isRestricted as isOnEdge, restricting } from './restriction.ts';
import { eventually, manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'handed', settings: { resyncMs: 300 } });
const { client } = stack;

const policy = (await client.ipPolicies.create({})).id;
const edge = async () => (await client.tlsEdges.create({})).id;

const declare = (name: string, id: string, policies = [policy], finalizers: string[] = []) => {
  const declared = restricting(name, id, policies);
  return stack.apply({ ...declared, metadata: { name, ...(finalizers.length > 0 && { finalizers }) } });
};
const isRestricted = (id: string) => isOnEdge(client, id);

test('what it had before goes, where what it was to have is left to another', async () => {
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

test('what it has handed over is no longer for it to decide, though it is interrupted and the other gone', async () => {
  const id = await edge();
  await declare('decided', id, [policy], [HOLD]);
  await stack.ready(EDGE_MODULES, 'decided');
  await declare('heir', id);
  await stack.reason(EDGE_MODULES, 'heir', 'Ready', 'ManagementConflict');
  await stack.run('delete', EDGE_MODULES.plural, 'decided', '--wait=false');
  await stack.ready(EDGE_MODULES, 'heir');
  const { status } = await stack.see(EDGE_MODULES, 'decided');
  expect(status).toMatchObject({ handedOver: [id] });
  await stack.kube.patch(EDGE_MODULES, 'decided', { metadata: { finalizers: null } }, stack.namespace);

  // As a crash would have left it before its finalizer was removed, when the heir had retained what it inherited.
  await stack.remove(EDGE_MODULES, 'heir');
  await declare('interrupted', id);
  await stack.ready(EDGE_MODULES, 'interrupted');
  await stack.annotate(EDGE_MODULES, 'interrupted', { [ANNOTATION.paused]: 'true' });
  await stack.reason(EDGE_MODULES, 'interrupted', 'Synced', 'Paused');
  await stack.run('delete', EDGE_MODULES.plural, 'interrupted', '--wait=false');
  const note = { status: { handedOver: [id] } };
  await stack.kube.patch(EDGE_MODULES, 'interrupted', note, stack.namespace, 'status');
  await stack.annotate(EDGE_MODULES, 'interrupted', { [ANNOTATION.paused]: null });
  await eventually(async () => expect(await stack.find(EDGE_MODULES, 'interrupted')).toBeUndefined());
  expect(await isRestricted(id)).toBe(true);
  await client.tlsEdges.delete(id);
});

test('where nothing may be adopted, the second takes over without a moment in between, too', async () => {
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
  const linesBefore = stack.apiLogs.length;
  await stack.remove(EDGE_MODULES, 'first');
  await stack.ready(EDGE_MODULES, 'second');
  expect(stack.apiLogs.slice(linesBefore).filter((line) => line.includes('"method":"DELETE"'))).toEqual([]);
  await stack.remove(EDGE_MODULES, 'second');
  await stack.remove(ours('tlsedges'), 'shared');
});

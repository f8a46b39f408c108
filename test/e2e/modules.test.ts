/** Modules of edges: settings without an id of their own, which an object sets, changes, deletes and reverts. */
import { describe, expect, test } from 'vitest';
import { ifExists } from '../../src/operator/kinds/external-of-family.ts';
import { manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'modules', settings: { resyncMs: 300 } });
const { client, idOf } = stack;

const EDGES = ours('tlsedges');
const EDGE_MODULES = ours('tlsedgemodules');

/** The modules that a TLS edge has, and what they refer to. */
async function modulesOf(edgeId: string): Promise<Record<string, string[]>> {
  const { ipRestriction, backend } = client.tlsEdgeModules(edgeId);
  const [restriction, answering] = [await ifExists(ipRestriction.get()), await ifExists(backend.get())];
  return {
    ...(restriction && { ipRestriction: restriction.ip_policies.map(({ id }) => id) }),
    ...(answering && { backend: [answering.backend.id] }),
  };
}

const backend = (name: string) => ({ backend: { backendRef: { kind: 'TunnelGroupBackend', name } } });

test('the modules of an edge are set, changed, deleted and set again as the spec changes', async () => {
  const name = 'life';
  await stack.apply(
    manifest('TLSEdge', name),
    manifest('IPPolicy', name, { rules: [] }),
    manifest('TunnelGroupBackend', name, { labels: { app: name } }),
    manifest('TunnelGroupBackend', `${name}-2`, { labels: { app: name } }),
  );
  const ref = { tlsEdgeRef: { name } };
  const restricted = { ipRestriction: { ipPolicyRefs: [{ name }] } };
  const edge = await idOf(EDGES, name);
  const policy = await idOf(ours('ippolicies'), name);
  const [first, second] = [
    await idOf(ours('tunnelgroupbackends'), name),
    await idOf(ours('tunnelgroupbackends'), `${name}-2`),
  ];
  const steps: [object, object][] = [
    [backend(name), { backend: [first] }],
    [
      { ...backend(name), ...restricted },
      { backend: [first], ipRestriction: [policy] },
    ],
    [
      { ...backend(`${name}-2`), ...restricted },
      { backend: [second], ipRestriction: [policy] },
    ],
    [restricted, { ipRestriction: [policy] }],
    [backend(name), { backend: [first] }],
  ];
  for (const [spec, expected] of steps) {
    await stack.apply(manifest('TLSEdgeModules', name, { ...ref, ...spec }));
    const { status } = await stack.ready(EDGE_MODULES, name);
    expect(status).toMatchObject({ id: edge, modules: Object.keys(expected).sort() });
    expect(await modulesOf(edge)).toEqual(expected);
  }
  const { object: before } = await stack.ready(EDGE_MODULES, name);
  const writes = await stack.sql('select count(*) as n from events');
  const { object: after } = await stack.reconciled(EDGE_MODULES, name);
  await stack.reconciled(EDGES, name);
  expect(await stack.sql('select count(*) as n from events')).toEqual(writes);
  expect(after.metadata.generation).toBe(before.metadata.generation);

  await stack.remove(EDGE_MODULES, name);
  expect(await modulesOf(edge)).toEqual({});
  await stack.remove(EDGES, name);
});

describe('without a resync in between', async () => {
  const quiet = await startStack({ prefix: 'modules-shown' });
  const shows = (edge: string, modules: string[]) =>
    eventually(async () => expect((await quiet.see(EDGES, edge)).status.modules).toEqual(modules));
  const declare = (edge: string, modules: object) =>
    quiet.apply(manifest('TLSEdgeModules', 'modules', { tlsEdgeRef: { name: edge }, ...modules }));

  test('an edge shows its current modules', async () => {
    await quiet.apply(
      manifest('TLSEdge', 'first'),
      manifest('TLSEdge', 'second'),
      manifest('IPPolicy', 'all', { rules: [] }),
    );
    for (const edge of ['first', 'second']) {
      await quiet.ready(EDGES, edge);
      await shows(edge, []);
    }
    const restriction = { ipRestriction: { ipPolicyRefs: [{ name: 'all' }] } };
    await declare('first', restriction);
    await shows('first', ['ip_restriction']);
    await declare('second', restriction);
    await shows('second', ['ip_restriction']);
    await shows('first', []);
    await quiet.remove(EDGE_MODULES, 'modules');
    await shows('second', []);
  });
});

describe('drift', () => {
  // every-kind.test.ts covers modules that are changed or deleted in the API.
  test('a module that was added in the API is deleted', async () => {
    const name = 'added';
    await stack.apply(
      manifest('TLSEdge', name),
      manifest('IPPolicy', name, { rules: [] }),
      manifest('TunnelGroupBackend', name, { labels: { app: name } }),
      manifest('TLSEdgeModules', name, { tlsEdgeRef: { name }, ...backend(name) }),
    );
    const edge = await idOf(EDGES, name);
    await stack.ready(EDGE_MODULES, name);
    const policy = await idOf(ours('ippolicies'), name);
    await client.tlsEdgeModules(edge).ipRestriction.put({ ip_policy_ids: [policy] });
    const { synced } = await stack.reason(EDGE_MODULES, name, 'Synced', 'DriftCorrected');
    expect(synced?.message).toContain('spec.ipRestriction');
    expect(Object.keys(await modulesOf(edge))).toEqual(['backend']);
    await stack.remove(EDGE_MODULES, name);
    await stack.remove(EDGES, name);
  });
});

describe('the edge', () => {
  const withBackend = async (name: string, ...edges: string[]) => {
    await stack.apply(
      ...edges.map((edge) => manifest('TLSEdge', edge)),
      manifest('TunnelGroupBackend', name, { labels: { app: name } }),
    );
    return idOf(ours('tunnelgroupbackends'), name);
  };

  test('gets its modules again when it is recreated', async () => {
    const name = 'anew';
    const answering = await withBackend(name, name);
    await stack.apply(manifest('TLSEdgeModules', name, { tlsEdgeRef: { name }, ...backend(name) }));
    await stack.ready(EDGE_MODULES, name);
    const before = await idOf(EDGES, name);
    await client.tlsEdges.delete(before);
    await eventually(async () => {
      const { status, ready } = await stack.see(EDGE_MODULES, name);
      expect(status.id).not.toBe(before);
      expect(status.observedGeneration).toBe(1);
      expect(ready?.status).toBe('True');
    });
    const after = await idOf(EDGES, name);
    expect(await modulesOf(after)).toEqual({ backend: [answering] });
    await stack.remove(EDGE_MODULES, name);
    await stack.remove(EDGES, name);
  });

  test('loses its modules when the object refers to another edge, which gets them', async () => {
    const answering = await withBackend('moved', 'from', 'to');
    const [from, to] = [await idOf(EDGES, 'from'), await idOf(EDGES, 'to')];
    for (const [target, other, name] of [
      [from, to, 'from'],
      [to, from, 'to'],
      [from, to, 'from'],
    ] as const) {
      await stack.apply(manifest('TLSEdgeModules', 'moved', { tlsEdgeRef: { name }, ...backend('moved') }));
      const { status } = await stack.ready(EDGE_MODULES, 'moved');
      expect(status.id).toBe(target);
      expect(status.retiring).toBeUndefined();
      expect(await modulesOf(target)).toEqual({ backend: [answering] });
      expect(await modulesOf(other)).toEqual({});
    }
    await stack.remove(EDGE_MODULES, 'moved');
    await stack.remove(EDGES, 'from', 'to');
  });

  test('is managed by one object; a second reports the conflict, and takes over once the first is gone', async () => {
    const answering = await withBackend('one', 'one');
    const other = await withBackend('two');
    const spec = { tlsEdgeRef: { name: 'one' } };
    await stack.apply(manifest('TLSEdgeModules', 'one', { ...spec, ...backend('one') }));
    await stack.ready(EDGE_MODULES, 'one');
    const edge = await idOf(EDGES, 'one');
    await stack.apply(manifest('TLSEdgeModules', 'two', { ...spec, ...backend('two') }));
    const { ready } = await stack.reason(EDGE_MODULES, 'two', 'Ready', 'ManagementConflict');
    expect(ready?.message).toContain(`${edge} is already managed by the TLSEdgeModules ${stack.namespace}/one`);
    expect(await modulesOf(edge)).toEqual({ backend: [answering] });
    // As in a rename: the edge is never without modules.
    const seen: Record<string, string[]>[] = [];
    let isOver = false;
    const watching = (async () => {
      while (!isOver) seen.push(await modulesOf(edge));
    })();
    await stack.remove(EDGE_MODULES, 'one');
    await stack.ready(EDGE_MODULES, 'two');
    isOver = true;
    await watching;
    expect(seen.filter((modules) => modules.backend === undefined)).toEqual([]);
    expect(await modulesOf(edge)).toEqual({ backend: [other] });
    // Two objects that are deleted at once do not leave the modules to each other.
    await stack.apply(manifest('TLSEdgeModules', 'one', { ...spec, ...backend('one') }));
    await stack.reason(EDGE_MODULES, 'one', 'Ready', 'ManagementConflict');
    await stack.run('delete', EDGE_MODULES.plural, 'one', 'two', '--timeout=30s');
    expect(await modulesOf(edge)).toEqual({});
    await stack.remove(EDGES, 'one');
  });

  test('is not deleted before the object that refers to it', async () => {
    await withBackend('blocked', 'blocked');
    await stack.apply(
      manifest('TLSEdgeModules', 'blocked', { tlsEdgeRef: { name: 'blocked' }, ...backend('blocked') }),
    );
    await stack.ready(EDGE_MODULES, 'blocked');
    await stack.run('delete', EDGES.plural, 'blocked', '--wait=false');
    const { ready } = await stack.reason(EDGES, 'blocked', 'Ready', 'DeletionBlocked');
    expect(ready?.message).toContain(`TLSEdgeModules ${stack.namespace}/blocked refers to this object`);
    await stack.remove(EDGE_MODULES, 'blocked');
    await eventually(async () => expect(await stack.find(EDGES, 'blocked')).toBeUndefined());
  });
});

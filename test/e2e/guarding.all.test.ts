/** Modules guard a route or edge from its first revision to its last, in any order of changes. */
import { describe, expect, test } from 'vitest';
import { type Manifest, manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'guarding', settings: { resyncMs: 300 } });
const { client, idOf } = stack;

const EDGES = ours('tlsedges');
const HTTPS_EDGES = ours('httpsedges');
const ROUTES = ours('httpsedgeroutes');
const EDGE_MODULES = ours('tlsedgemodules');
const ROUTE_MODULES = ours('httpsedgeroutemodules');
const HRB = ours('httpresponsebackends');

const OIDC = { issuer: 'https://accounts.example.com', clientId: { value: 'portal' }, clientSecret: { value: 's1' } };
const open = async (id: string) => {
  const text = "select payload->'backend' as backend, payload->'modules' as modules from events where resource_id = $1";
  const revisions = await stack.sql(`${text} order by id`, [id.split('/').at(-1)]);
  expect(revisions).not.toEqual([]);
  return revisions.filter(({ backend, modules }) => backend !== null && String(modules) === '');
};
const guarded = (name: string, edge: string, signIn: object): Manifest[] => [
  manifest('HTTPResponseBackend', name, { body: { value: 'inside' } }),
  manifest('HTTPSEdgeRouteModules', name, { routeRef: { name }, ...signIn }),
  manifest('HTTPSEdge', edge),
  manifest('HTTPSEdgeRoute', name, {
    edgeRef: { name: edge },
    match: '/',
    matchType: 'path_prefix',
    backendRef: { kind: 'HTTPResponseBackend', name },
  }),
];
const served = (name: string, before?: string) =>
  eventually(async () => {
    const id = await idOf(ROUTES, name);
    expect(id).not.toBe(before);
    const [edge = '', route = ''] = id.split('/');
    expect(await client.httpsEdgeRoutes(edge).get(route)).toMatchObject({
      backend: { id: await idOf(HRB, name) },
      modules: ['oidc'],
    });
    return id;
  });
const clear = async (name: string, ...edges: string[]) => {
  await stack.remove(ROUTE_MODULES, name);
  await stack.remove(ROUTES, name);
  await stack.remove(HRB, name);
  await stack.remove(HTTPS_EDGES, ...edges);
};

describe('guarding modules', () => {
  test('are there whenever a route has a backend: created, recreated, moved, or deleted with them', async () => {
    const name = 'guarded';
    await stack.apply(...guarded(name, name, { oidc: OIDC }), manifest('HTTPSEdge', 'guarded-2'));
    const ids = [await served(name)];
    const [edge = '', route = ''] = ids[0]?.split('/') ?? [];
    await client.httpsEdgeRoutes(edge).delete(route);
    ids.push(await served(name, ids.at(-1)));
    await stack.apply(...guarded(name, 'guarded-2', { oidc: OIDC }));
    ids.push(await served(name, ids.at(-1)));
    expect(await stack.events(name)).not.toContainEqual(expect.objectContaining({ reason: 'DriftCorrected' }));
    await eventually(async () => expect((await stack.see(ROUTES, name)).status.retiring).toBeUndefined());
    await stack.run('delete', `${ROUTES.plural},${ROUTE_MODULES.plural}`, name, '--timeout=30s');
    for (const id of ids) expect(await open(id), id).toEqual([]);
    await stack.remove(HRB, name);
    await stack.remove(HTTPS_EDGES, name, 'guarded-2');
  });

  test('that cannot be set keep a new route without a backend, as WaitingForModules, until they are set', async () => {
    const name = 'unguarded';
    const secretless = { ...OIDC, clientSecret: { secretKeyRef: { name, key: 'secret' } } };
    await stack.apply(...guarded(name, name, { oidc: secretless }));
    const { ready, status } = await stack.reason(ROUTES, name, 'Ready', 'WaitingForModules');
    expect(ready?.message).toContain(`HTTPSEdgeRouteModules ${stack.namespace}/${name}`);
    const [edge = '', route = ''] = String(status.id).split('/');
    expect(await client.httpsEdgeRoutes(edge).get(route)).toMatchObject({ backend: null });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { secret: 's' } };
    await stack.apply(secret);
    const id = await served(name);
    expect(await open(id)).toEqual([]);
    await clear(name, name);
  });

  test('leave a moved route serving on its old edge until its successor serves, even if moved again', async () => {
    const name = 'going-on';
    const edges = [name, `${name}-2`, `${name}-3`];
    const secretless = { ...OIDC, clientSecret: { secretKeyRef: { name, key: 'secret' } } };
    const on = (edge = '') => guarded(name, edge, { oidc: secretless }).filter(({ kind }) => kind !== 'HTTPSEdge');
    const unguarded = on(name).filter(({ kind }) => kind !== 'HTTPSEdgeRouteModules');
    await stack.apply(...edges.map((edge) => manifest('HTTPSEdge', edge)), ...unguarded);
    const first = await idOf(ROUTES, name);
    const [edge = '', id = ''] = first.split('/');
    const goesOn = async () => expect(await client.httpsEdgeRoutes(edge).get(id)).toMatchObject({ backend: {} });

    await stack.apply(...on(edges[1]));
    const { status } = await stack.reason(ROUTES, name, 'Ready', 'WaitingForModules');
    expect(status.id).not.toBe(first);
    await goesOn();
    await stack.apply(...on(edges[2]));
    await eventually(async () => {
      const { ready, status: last } = await stack.see(ROUTES, name);
      expect(ready).toMatchObject({ reason: 'WaitingForModules' });
      expect(last.id).not.toBe(status.id);
    });
    await stack.reconciled(ROUTES, name);
    await goesOn();

    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { secret: 's' } };
    await stack.apply(secret);
    await served(name, String(status.id));
    await eventually(async () => expect((await stack.see(ROUTES, name)).status.retiring).toBeUndefined());
    await expect(client.httpsEdgeRoutes(edge).get(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await clear(name, ...edges);
  });

  test('are set on a TLS edge before its backend, and deleted after it', async () => {
    const name = 'guarded-tls';
    const ref = { tlsEdgeRef: { name } };
    const modules = {
      backend: { backendRef: { kind: 'TunnelGroupBackend', name } },
      ipRestriction: { ipPolicyRefs: [{ name }] },
    };
    await stack.apply(
      manifest('TLSEdge', name),
      manifest('IPPolicy', name, { rules: [] }),
      manifest('TunnelGroupBackend', name, { labels: { app: name } }),
    );
    const edge = await idOf(EDGES, name);
    for (let times = 0; times < 2; times++) {
      await stack.apply(manifest('TLSEdgeModules', name, { ...ref, ...modules }));
      await stack.ready(EDGE_MODULES, name);
      await stack.remove(EDGE_MODULES, name);
    }
    const text = "select payload->'modules' as had from events where resource_id = $1 order by id";
    const had = (await stack.sql(text, [edge])).map((revision) => String(revision.had));
    expect(had.length).toBeGreaterThan(8);
    expect(had).not.toContain('backend');
    await stack.remove(EDGES, name);
  });
});

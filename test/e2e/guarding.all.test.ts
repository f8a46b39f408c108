/** Whom modules are to keep out is kept out from the beginning to the end, in whatever order things are made and deleted. */
import { describe, expect, test } from 'vitest';
import { kubectl } from '../harness.ts';
import { chartAccount } from './chart-account.ts';
import { eventually, type Manifest, manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'guarding', settings: { resyncMs: 300 } });
const { client } = stack;

const EDGES = ours('tlsedges');
const HTTPS_EDGES = ours('httpsedges');
const ROUTES = ours('httpsedgeroutes');
const EDGE_MODULES = ours('tlsedgemodules');
const ROUTE_MODULES = ours('httpsedgeroutemodules');
const HRB = ours('httpresponsebackends');

const object = (kind: string, name: string, spec: object = {}) => manifest({ name: kind }, name, spec);
const idOf = async (of: ReturnType<typeof ours>, name: string) => String((await stack.ready(of, name)).status.id);

const OIDC = { issuer: 'https://accounts.example.com', clientId: { value: 'portal' }, clientSecret: { value: 's1' } };
const backend = (name: string) => ({ backend: { backendRef: { kind: 'TunnelGroupBackend', name } } });

const open = async (id: string) => {
  const text = "select payload->'backend' as backend, payload->'modules' as modules from events where resource_id = $1";
  const revisions = await stack.sql(`${text} order by id`, [id.split('/').at(-1)]);
  expect(revisions).not.toEqual([]);
  return revisions.filter(({ backend, modules }) => backend !== null && String(modules) === '');
};
const guarded = (name: string, edge: string, signIn: object): Manifest[] => [
  object('HTTPResponseBackend', name, { body: { value: 'inside' } }),
  object('HTTPSEdgeRouteModules', name, { routeRef: { name }, ...signIn }),
  object('HTTPSEdge', edge),
  object('HTTPSEdgeRoute', name, {
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

describe('nobody gets past what is not yet, or no longer, guarded:', () => {
  test('a route that is new, made anew, moved, and deleted with its modules', async () => {
    const name = 'guarded';
    await stack.apply(...guarded(name, name, { oidc: OIDC }), object('HTTPSEdge', 'guarded-2'));
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

  test('a route whose modules cannot be set says so, and serves once they are, or nobody declares them', async () => {
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

  test('a route whose modules only the operator refuses waits for them, and goes on where it is guarded', async () => {
    const name = 'refused';
    // The schema of the CRD cannot say that there is no such port.
    const wrong = { oidc: { ...OIDC, issuer: 'https://accounts.example.com:99999' } };
    const unguarded = async () => {
      const { status } = await stack.reason(ROUTES, name, 'Ready', 'WaitingForModules');
      const [edge = '', id = ''] = String(status.id).split('/');
      expect(await client.httpsEdgeRoutes(edge).get(id)).toMatchObject({ backend: null });
      return String(status.id);
    };
    await stack.apply(...guarded(name, name, wrong), object('HTTPSEdge', `${name}-2`));
    await stack.reason(ROUTE_MODULES, name, 'Ready', 'Rejected');
    await unguarded();
    await stack.apply(...guarded(name, name, { oidc: OIDC }));
    const first = await served(name);
    await stack.apply(...guarded(name, `${name}-2`, wrong));
    const moved = await unguarded();
    expect(moved).not.toBe(first);
    const [edge = '', id = ''] = first.split('/');
    expect(await client.httpsEdgeRoutes(edge).get(id)).toMatchObject({ backend: {}, modules: ['oidc'] });
    await stack.apply(...guarded(name, `${name}-2`, { oidc: OIDC }));
    expect(await served(name)).toBe(moved);
    for (const each of [first, moved]) expect(await open(each), each).toEqual([]);
    await clear(name, name, `${name}-2`);
  });

  test('a route that requires modules serves only once an object declares them', async () => {
    const name = 'required';
    const all = guarded(name, name, { oidc: OIDC }).map((each) =>
      each.kind === 'HTTPSEdgeRoute' ? { ...each, spec: { ...each.spec, requireModules: true } } : each,
    );
    await stack.apply(...all.filter(({ kind }) => kind !== 'HTTPSEdgeRouteModules'));
    const { ready, status } = await stack.reason(ROUTES, name, 'Ready', 'WaitingForModules');
    expect(ready?.message).toContain('spec.requireModules asks for some, and no object declares any');
    const [edge = '', id = ''] = String(status.id).split('/');
    expect(await client.httpsEdgeRoutes(edge).get(id)).toMatchObject({ backend: null });
    await stack.apply(...all);
    expect(await open(await served(name))).toEqual([]);
    await clear(name, name);
  });

  test('a route that is moved goes on where it serves until its successor does, whatever comes in between', async () => {
    const name = 'going-on';
    const edges = [name, `${name}-2`, `${name}-3`];
    const secretless = { ...OIDC, clientSecret: { secretKeyRef: { name, key: 'secret' } } };
    const on = (edge = '') => guarded(name, edge, { oidc: secretless }).filter(({ kind }) => kind !== 'HTTPSEdge');
    const changed = (edge: string | undefined, change: object) =>
      on(edge).map((each) => (each.kind === 'HTTPSEdgeRoute' ? { ...each, spec: { ...each.spec, ...change } } : each));
    const unguarded = on(name).filter(({ kind }) => kind !== 'HTTPSEdgeRouteModules');
    await stack.apply(...edges.map((edge) => object('HTTPSEdge', edge)), ...unguarded);
    const first = await idOf(ROUTES, name);
    const [edge = '', id = ''] = first.split('/');
    const goesOn = async () => expect(await client.httpsEdgeRoutes(edge).get(id)).toMatchObject({ backend: {} });

    await stack.apply(...on(edges[1]));
    const { status } = await stack.reason(ROUTES, name, 'Ready', 'WaitingForModules');
    expect(status.id).not.toBe(first);
    // As a crash before the status was written would have left it.
    const { conditions = [] } = status;
    const asBefore = conditions.map((one) =>
      one.type === 'Ready' ? { ...one, status: 'True', reason: 'Available' } : one,
    );
    await stack.kube.patch(ROUTES, name, { status: { id: first, conditions: asBefore } }, stack.namespace, 'status');
    await stack.reason(ROUTES, name, 'Ready', 'WaitingForModules');
    await goesOn();
    await stack.apply(...changed(edges[1], { backendRef: { kind: 'HTTPResponseBackend', name: 'nowhere' } }));
    await stack.reason(ROUTES, name, 'Ready', 'ReferenceNotFound');
    await stack.reconciled(ROUTES, name);
    await goesOn();
    await stack.apply(...changed(edges[1], { managementPolicy: 'Observe' }));
    await stack.reason(ROUTES, name, 'Synced', 'Observed');
    await stack.reconciled(ROUTES, name);
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

  test('a route that is deleted with Retain before its successor serves stays where it does', async () => {
    const name = 'retained';
    const edges = [name, `${name}-2`];
    const all = (edge: string, more: object) =>
      guarded(name, edge, {})
        .filter(({ kind }) => kind !== 'HTTPSEdgeRouteModules')
        .map((each) => (each.kind === 'HTTPSEdgeRoute' ? { ...each, spec: { ...each.spec, ...more } } : each));
    await stack.apply(...all(name, { deletionPolicy: 'Retain' }));
    const [edge = '', id = ''] = (await idOf(ROUTES, name)).split('/');
    await stack.apply(...all(`${name}-2`, { deletionPolicy: 'Retain', requireModules: true }));
    const { status } = await stack.reason(ROUTES, name, 'Ready', 'WaitingForModules');
    await stack.remove(ROUTES, name);
    expect(await client.httpsEdgeRoutes(edge).get(id)).toMatchObject({ backend: {} });
    const [otherEdge = '', otherId = ''] = String(status.id).split('/');
    await expect(client.httpsEdgeRoutes(otherEdge).get(otherId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await client.httpsEdgeRoutes(edge).delete(id);
    await stack.remove(HRB, name);
    await stack.remove(HTTPS_EDGES, ...edges);
  });

  test('a TLS edge, whose backend is set last and deleted first', async () => {
    const name = 'guarded-tls';
    await stack.apply(
      object('TLSEdge', name),
      object('IPPolicy', name, { rules: [] }),
      object('TunnelGroupBackend', name, { labels: { app: name } }),
      object('TLSEdgeModules', name, {
        tlsEdgeRef: { name },
        ...backend(name),
        ipRestriction: { ipPolicyRefs: [{ name }] },
      }),
    );
    const edge = await idOf(EDGES, name);
    await stack.ready(EDGE_MODULES, name);
    await stack.apply(object('TLSEdgeModules', name, { tlsEdgeRef: { name }, ipRestriction: null, backend: null }));
    await stack.ready(EDGE_MODULES, name);
    await stack.apply(
      object('TLSEdgeModules', name, {
        tlsEdgeRef: { name },
        ...backend(name),
        ipRestriction: { ipPolicyRefs: [{ name }] },
      }),
    );
    await stack.ready(EDGE_MODULES, name);
    await stack.remove(EDGE_MODULES, name);
    const text = "select payload->'modules' as had from events where resource_id = $1 order by id";
    const had = (await stack.sql(text, [edge])).map((revision) => String(revision.had));
    expect(had.length).toBeGreaterThan(8);
    expect(had).not.toContain('backend');
    await stack.remove(EDGES, name);
  });

  test('a route that is moved while the operator may not list modules', async () => {
    const name = 'unlisted';
    await stack.apply(...guarded(name, name, { oidc: OIDC }), object('HTTPSEdge', 'unlisted-2'));
    const first = await served(name);
    const { namespace } = stack;
    const accountMay = (may: boolean) =>
      chartAccount(kubectl, namespace, [namespace], (rules) =>
        rules.map((rule) => ({
          ...rule,
          resources: rule.resources.filter((each) => may || each !== ROUTE_MODULES.plural),
        })),
      );
    const kubeconfig = await accountMay(false);
    await stack.restart(async () => {}, { kubeconfig });
    await stack.apply(...guarded(name, 'unlisted-2', { oidc: OIDC }));
    const { ready } = await stack.reason(ROUTES, name, 'Ready', 'WaitingForModules');
    expect(ready?.message).toContain(`cannot list resource "${ROUTE_MODULES.plural}"`);
    const [edge = '', id = ''] = first.split('/');
    expect(await client.httpsEdgeRoutes(edge).get(id)).toMatchObject({ backend: {}, modules: ['oidc'] });
    await accountMay(true);
    const second = await served(name, first);
    for (const each of [first, second]) expect(await open(each), each).toEqual([]);
    await clear(name, name, 'unlisted-2');
  });
});

/** Modules that sign users in to a route: each of them, the change from one to the other, and their client secret. */
import { describe, expect, test } from 'vitest';
import { ifThere } from './if-there.ts';
import { eventually, manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'sign-in', settings: { resyncMs: 300 } });
const { client } = stack;

const HTTPS_EDGES = ours('httpsedges');
const ROUTES = ours('httpsedgeroutes');
const ROUTE_MODULES = ours('httpsedgeroutemodules');

const object = (kind: string, name: string, spec: object = {}) => manifest({ name: kind }, name, spec);
const secret = (name: string, stringData: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData,
});

const signIn = (routeId: string) => {
  const [edge = '', route = ''] = routeId.split('/');
  return client.httpsEdgeRouteModules(edge, route);
};

async function signInsOf(routeId: string) {
  const { oidc, oauth } = signIn(routeId);
  return { oidc: await ifThere(oidc.get()), oauth: await ifThere(oauth.get()) };
}

const OIDC = { issuer: 'https://accounts.example.com', clientId: { value: 'portal' }, clientSecret: { value: 's1' } };
const OAUTH = { provider: { github: { organizations: ['acme'] } } };

/** An edge with a route, whose id is returned. */
async function route(name: string): Promise<string> {
  await stack.apply(
    object('HTTPSEdge', name),
    object('HTTPSEdgeRoute', name, { edgeRef: { name }, match: '/', matchType: 'path_prefix' }),
  );
  return String((await stack.ready(ROUTES, name)).status.id);
}

async function removeRoute(name: string): Promise<void> {
  await stack.remove(ROUTES, name);
  await stack.remove(HTTPS_EDGES, name);
}

describe('signing in to a route', () => {
  test('changes from OIDC to OAuth and back without a moment in which it is open', async () => {
    const name = 'changes';
    const id = await route(name);
    const routeRef = { name };
    const apply = async (spec: object) => {
      await stack.apply(object('HTTPSEdgeRouteModules', name, { routeRef, ...spec }));
      await stack.ready(ROUTE_MODULES, name);
      return signInsOf(id);
    };
    expect(await apply({ oidc: OIDC })).toMatchObject({ oidc: { client_id: 'portal' }, oauth: undefined });
    expect(await apply({ oauth: OAUTH })).toMatchObject({ oidc: undefined, oauth: { enabled: true } });
    expect(await apply({ oidc: OIDC })).toMatchObject({ oidc: { client_secret: 's1' }, oauth: undefined });
    // Each change of a module is a revision of its route, which says what it had then.
    const text =
      "select payload->'modules' as had from events where resource_id = $1 and type like '%updated%' order by id";
    const revisions = await stack.sql(text, [id.split('/').at(-1)]);
    const [both, one, other] = [['oauth', 'oidc'], ['oidc'], ['oauth']];
    expect(revisions.map(({ had }) => had)).toEqual([one, both, other, both, one]);
    await stack.remove(ROUTE_MODULES, name);
    expect(await signInsOf(id)).toEqual({ oidc: undefined, oauth: undefined });
    await removeRoute(name);
  });

  test('follows the Secret with its client secret, and shows it nowhere', async () => {
    const name = 'sourced';
    const id = await route(name);
    const from = (key: string) => ({ secretKeyRef: { name, key } });
    const provider = { gitlab: { clientId: from('id'), clientSecret: from('secret'), scopes: ['openid'] } };
    await stack.apply(object('HTTPSEdgeRouteModules', name, { routeRef: { name }, oauth: { provider } }));
    await stack.reason(ROUTE_MODULES, name, 'Ready', 'SourceNotFound');
    const given = async () => (await signInsOf(id)).oauth?.provider.gitlab;
    expect(await given()).toBeUndefined();
    await stack.apply(secret(name, { id: 'app', secret: 'hush-hush-1' }));
    await stack.ready(ROUTE_MODULES, name);
    expect(await given()).toMatchObject({ client_id: 'app', client_secret: 'hush-hush-1' });
    await stack.apply(secret(name, { id: 'app', secret: 'hush-hush-2' }));
    await eventually(async () => expect(await given()).toMatchObject({ client_secret: 'hush-hush-2' }));
    await stack.restart(async () => stack.apply(secret(name, { id: 'app', secret: 'hush-hush-3' })));
    await eventually(async () => expect(await given()).toMatchObject({ client_secret: 'hush-hush-3' }));

    await signIn(id).oauth.put({ provider: { gitlab: { client_id: 'app', client_secret: 'theirs' } } });
    await stack.reason(ROUTE_MODULES, name, 'Synced', 'DriftCorrected');
    expect(await given()).toMatchObject({ client_secret: 'hush-hush-3', scopes: ['openid'] });
    const { object: seen } = await stack.ready(ROUTE_MODULES, name);
    const told = JSON.stringify([seen, await stack.events(name), stack.logs]);
    expect(told).toContain('spec.oauth.provider');
    expect(told).not.toContain('hush-hush');
    await stack.remove(ROUTE_MODULES, name);
    await removeRoute(name);
  });

  test.each([
    ['none', {}],
    ['two', { github: {}, google: {} }],
  ])('with %s of the providers is refused at once', async (_, provider) => {
    const refused = object('HTTPSEdgeRouteModules', 'refused', { routeRef: { name: 'x' }, oauth: { provider } });
    const { code, stderr } = await stack.tryApply(refused, '--dry-run=server');
    expect(code).toBe(1);
    expect(stderr).toContain('spec.oauth.provider');
  });
});

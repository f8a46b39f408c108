/** How many requests a comparison with the API takes where resources live in others, or have modules. */
import { expect, test } from 'vitest';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { eventually, manifest, ours, startStack } from './stack.ts';

const OBJECTS = 10;
const stack = await startStack({ prefix: 'resync-requests' });
const { client } = stack;

const oidc = { issuer: 'https://accounts.example.com', client_id: 'portal', client_secret: 's' };
const sources = { issuer: oidc.issuer, clientId: { value: 'portal' }, clientSecret: { value: 's' } };
const names = Array.from({ length: OBJECTS }, (_, n) => `edge-${n}`);

/** What nobody declares. */
async function othersEdges(policyId: string): Promise<void> {
  const { id: edge } = await client.httpsEdges.create({});
  const route = await client.httpsEdgeRoutes(edge).create({ match: '/', match_type: 'path_prefix' });
  await client.httpsEdgeRouteModules(edge, route.id).oidc.put(oidc);
  const { id } = await client.tlsEdges.create({});
  await client.tlsEdgeModules(id).ipRestriction.put({ ip_policy_ids: [policyId] });
}

/** Waits until each object of the kinds shows its module. */
const allShow = (plurals: readonly string[]) =>
  eventually(async () => {
    const lists = await Promise.all(plurals.map((plural) => stack.kube.list(ours(plural), stack)));
    const shown = lists.flatMap(({ items }) => items.map((each) => readStatus(each).modules));
    expect(shown).toEqual(Array.from({ length: plurals.length * OBJECTS }, () => [expect.any(String)]));
  }, 120_000);

/** The reads of edges that the API has answered since, by route. */
function readsSince(line: number): Record<string, number> {
  const reads = stack.apiLogs.slice(line).flatMap((each) => {
    const { method, route }: { method?: string; route?: string } = JSON.parse(each);
    return method === 'GET' && route?.startsWith('/edges/') ? [route] : [];
  });
  const byRoute = Map.groupBy(reads, (route) => route);
  return Object.fromEntries([...byRoute].map(([route, each]) => [route, each.length]));
}

const policy = await client.ipPolicies.create({});
await stack.apply(
  ...names.flatMap((name) => [
    manifest({ name: 'HTTPSEdge' }, name),
    manifest({ name: 'HTTPSEdgeRoute' }, name, { edgeRef: { name }, match: '/', matchType: 'path_prefix' }),
    manifest({ name: 'HTTPSEdgeRouteModules' }, name, { routeRef: { name }, oidc: sources }),
    manifest({ name: 'TLSEdge' }, name),
    manifest({ name: 'TLSEdgeModules' }, name, {
      tlsEdgeRef: { name },
      ipRestriction: { ipPolicyRefs: [{ id: policy.id }] },
    }),
  ]),
);
await allShow(['httpsedgeroutemodules', 'tlsedgemodules']);
await Promise.all(names.map(() => othersEdges(policy.id)));

// Routes and edges show the names of their modules, which came after them.
await stack.restart();
await allShow(['httpsedgeroutes', 'tlsedges']);

test('a resync reads what objects name, and nothing of what they do not', async () => {
  let before = 0;
  await stack.restart(async () => {
    before = stack.apiLogs.length;
  });
  const compared = ['HTTPSEdge', 'HTTPSEdgeRoute', 'HTTPSEdgeRouteModules', 'TLSEdge', 'TLSEdgeModules'];
  await eventually(async () => {
    for (const kind of compared)
      expect(await stack.metric('tunnel_operator_resyncs_total', { kind, result: 'success' })).toBe(1);
  });
  expect(readsSince(before)).toEqual({
    '/edges/https': 1,
    '/edges/https/{edge_id}/routes': 2 * OBJECTS,
    '/edges/https/{edge_id}/routes/{id}/oidc': OBJECTS,
    '/edges/tls': 2,
    '/edges/tls/{id}/ip_restriction': OBJECTS,
  });
});

/** Stories about composite resources: rule sets, and edges with routes and modules. */
import type { Story } from './load.ts';
import { Possible } from './possible.ts';
import { type Thing, under } from './writer.ts';

const CIDRS = ['10.0.0.0/8', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32'];

export const replacesRules: Story = async (writer, mark) => {
  interface State {
    readonly policy: readonly Thing[];
    readonly rules: readonly string[];
  }
  const { id } = await writer.settled((client) => client.ipPolicies.create({ metadata: mark }, under(mark)));
  const policy = new Possible<State>({ policy: [{ id, revision: 1 }], rules: [] });
  writer.track(mark, policy, (stored) => {
    const rules = stored.rows('ip_policy_rules').filter((rule) => rule.ip_policy_id === id);
    return { policy: stored.marked('ip_policies', mark), rules: rules.map(ruleText).toSorted() };
  });
  for (let n = 0; n < 4; n++) {
    const members = writer.random
      .some(CIDRS)
      .map((cidr) => ({ cidr, action: writer.random.oneOf(['allow', 'deny'] as const) }));
    const outcome = await writer.attempt((client) => client.replaceRules(id, { rules: members }));
    const rules = members.map(ruleText).toSorted();
    const replace = (state: State): State => {
      if (state.rules.join() === rules.join()) return state;
      return { policy: state.policy.map((each) => ({ ...each, revision: each.revision + 1 })), rules };
    };
    policy.write(replace, outcome.kind === 'done');
  }
  if (writer.random.chance(0.5)) return;
  const deleted = await writer.attempt((client) => client.ipPolicies.delete(id), 'NOT_FOUND');
  policy.write(() => ({ policy: [], rules: [] }), deleted.kind !== 'unknown');
};

const ruleText = ({ cidr, action }: Readonly<Record<string, unknown>>) => `${action} ${cidr}`;

/** Builds an edge with routes and modules; deleting the edge deletes these as well. */
export const buildsEdge: Story = async (writer, mark) => {
  interface State {
    readonly edge: readonly Thing[];
    readonly routes: readonly {
      readonly match: string;
      readonly modules: readonly string[];
      readonly revision: number;
    }[];
  }
  const host = `${mark}.tunnels.internal`;
  await writer.settled((client) => client.reservedDomains.create({ domain: host }, under(`${mark}-domain`)));
  const backend = await writer.settled((client) => client.httpResponseBackends.create({}, under(`${mark}-backend`)));
  const listening = { hostports: [`${host}:443`], metadata: mark };
  const { id } = await writer.settled((client) => client.httpsEdges.create(listening, under(mark)));
  const tree = new Possible<State>({ edge: [{ id, revision: 1 }], routes: [] });
  writer.track(mark, tree, (stored) => ({
    edge: stored.marked('https_edges', mark),
    routes: stored.rows('https_edge_routes').filter((route) => route.edge_id === id),
  }));

  for (const match of ['/a', '/b']) {
    const body = { match, match_type: 'path_prefix', backend_id: backend.id } as const;
    const route = await writer.settled((client) => client.httpsEdgeRoutes(id).create(body, under(mark + match)));
    tree.write(({ edge, routes }) => ({ edge, routes: [...routes, { match, modules: [], revision: 1 }] }), true);
    const oidc = { issuer: 'https://accounts.example.com', client_id: mark, client_secret: `secret of ${mark}` };
    const put = await writer.attempt((client) => client.httpsEdgeRouteModules(id, route.id).oidc.put(oidc));
    const added = ({ edge, routes }: State) => ({
      edge,
      routes: routes.map((each) => (each.match === match ? { match, modules: ['oidc'], revision: 2 } : each)),
    });
    tree.write(added, put.kind === 'done');
  }
  if (writer.random.chance(0.3)) return;
  const deleted = await writer.attempt((client) => client.httpsEdges.delete(id), 'NOT_FOUND');
  tree.write(() => ({ edge: [], routes: [] }), deleted.kind !== 'unknown');
};

/** References a policy, and then deletes the policy. */
export const restrictsTlsEdge: Story = async (writer, mark) => {
  interface State extends Thing {
    readonly modules: readonly string[];
  }
  const host = `${mark}.tunnels.internal`;
  await writer.settled((client) => client.reservedDomains.create({ domain: host }, under(`${mark}-domain`)));
  const policy = await writer.settled((client) => client.ipPolicies.create({}, under(`${mark}-policy`)));
  const listening = { hostports: [`${host}:443`], metadata: mark };
  const { id } = await writer.settled((client) => client.tlsEdges.create(listening, under(mark)));
  const edge = new Possible<State>({ id, revision: 1, modules: [] });
  writer.track(mark, edge, (stored) => stored.marked('tls_edges', mark)[0]);
  const setModules = (modules: readonly string[]) => (state: State) =>
    state.modules.join() === modules.join() ? state : { ...state, modules, revision: state.revision + 1 };

  const restriction = { ip_policy_ids: [policy.id] };
  const put = await writer.attempt((client) => client.tlsEdgeModules(id).ipRestriction.put(restriction));
  edge.write(setModules(['ip_restriction']), put.kind === 'done');
  await writer.attempt((client) => client.ipPolicies.delete(policy.id), 'NOT_FOUND');
  if (put.kind !== 'done' || writer.random.chance(0.5)) return;
  const removed = await writer.attempt((client) => client.tlsEdgeModules(id).ipRestriction.delete(), 'NOT_FOUND');
  edge.write(setModules([]), removed.kind !== 'unknown');
};

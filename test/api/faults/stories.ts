/**
 * What writers do under load, one story per shape of write. Each keeps a model of what its resources may be like: an
 * acknowledged write is in it for certain, an unanswered one perhaps.
 */
import type { CreateOptions } from '../../../src/client/client.ts';
import type { Outcome, Writer } from './load.ts';
import { Possible } from './possible.ts';

/** @param mark names what this telling of the story makes; fit for a host name. */
export type Story = (writer: Writer, mark: string) => Promise<void>;

interface Thing {
  readonly id?: string;
  readonly revision: number;
}

const FIRST: Thing = { revision: 1 };

/** A create under a key: made once, with the id that was answered. */
function made(things: Possible<readonly Thing[]>, outcome: Outcome<{ id: string }>): void {
  if (outcome.kind === 'done') things.write(() => [{ ...FIRST, id: outcome.value.id }], true);
  else things.write((there) => (there.length > 0 ? there : [FIRST]), false);
}

function trackThings(writer: Writer, table: string, mark: string): Possible<readonly Thing[]> {
  const things = new Possible<readonly Thing[]>([]);
  writer.track(mark, things, (stored) => stored.marked(table, mark));
  return things;
}

/** Without a key: a lost answer leaves open whether there is one, and a repetition would be another. */
const createsPlainly: Story = async (writer, mark) => {
  const things = trackThings(writer, 'ip_policies', mark);
  const outcome = await writer.call((client) => client.ipPolicies.create({ metadata: mark }));
  const isDone = outcome.kind === 'done';
  things.write((there) => [...there, isDone ? { ...FIRST, id: outcome.value.id } : FIRST], isDone);
};

const createsUnderKey: Story = async (writer, mark) => {
  const things = trackThings(writer, 'ip_policies', mark);
  const create = () => writer.attempt((client) => client.ipPolicies.create({ metadata: mark }, under(mark)));
  const first = await create();
  made(things, first);
  const second = await create();
  made(things, second);
  if (first.kind === 'done' && second.kind === 'done') writer.require(same(first, second), `${mark}: another replay`);
};

/** Both processes are asked at the same moment. */
const createsTwice: Story = async (writer, mark) => {
  const things = trackThings(writer, 'http_response_backends', mark);
  const outcomes = await writer.callBoth((client) =>
    client.httpResponseBackends.create({ metadata: mark }, under(mark)),
  );
  for (const outcome of outcomes.toSorted((a) => (a.kind === 'done' ? 1 : -1))) made(things, outcome);
  const [first, second] = outcomes;
  if (first?.kind === 'done' && second?.kind === 'done') writer.require(same(first, second), `${mark}: two answers`);
};

/** After this nobody need guess: what exists under the key is what the answer names. */
const closesKey: Story = async (writer, mark) => {
  const things = trackThings(writer, 'ip_policies', mark);
  made(things, await writer.call((client) => client.ipPolicies.create({ metadata: mark }, under(mark))));
  const { resource_id: id } = await writer.settled((client) => client.closeIdempotencyKey(mark));
  const isKnown = things.saw((there) => (id === null ? there.length === 0 : (there[0]?.id ?? id) === id));
  writer.require(isKnown, `${mark}: closed with ${id}, although it was ${things}`);
  const again = await writer.call((client) => client.ipPolicies.create({ metadata: mark }, under(mark)));
  writer.require(again.kind !== 'done', `${mark}: created under a closed key`);
};

const patches: Story = async (writer, mark) => {
  interface State extends Thing {
    readonly body: string;
  }
  const { id } = await writer.settled((client) => client.httpResponseBackends.create({ metadata: mark }, under(mark)));
  const things = new Possible<State>({ id, revision: 1, body: '' });
  writer.track(mark, things, (stored) => stored.marked('http_response_backends', mark)[0]);
  for (let n = 0; n < 5; n++) {
    const body = `${mark} ${n}`;
    const outcome = await writer.attempt((client) => client.httpResponseBackends.update(id, { body }));
    // A PATCH that changes nothing writes nothing.
    const change = (state: State) => (state.body === body ? state : { ...state, body, revision: state.revision + 1 });
    things.write(change, outcome.kind === 'done');
  }
};

const deletes: Story = async (writer, mark) => {
  const things = trackThings(writer, 'http_response_backends', mark);
  const created = await writer.attempt((client) => client.httpResponseBackends.create({ metadata: mark }, under(mark)));
  made(things, created);
  if (created.kind !== 'done') return;
  const deleted = await writer.attempt((client) => client.httpResponseBackends.delete(created.value.id), 'NOT_FOUND');
  things.write(() => [], deleted.kind !== 'unknown');
};

const CIDRS = ['10.0.0.0/8', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32'];

const replacesRules: Story = async (writer, mark) => {
  interface State extends Thing {
    readonly rules: readonly string[];
  }
  const { id } = await writer.settled((client) => client.ipPolicies.create({ metadata: mark }, under(mark)));
  const policy = new Possible<State | { rules: readonly [] }>({ id, revision: 1, rules: [] });
  writer.track(mark, policy, (stored) => {
    const rules = stored.rows('ip_policy_rules').filter((rule) => rule.ip_policy_id === id);
    return { ...stored.marked('ip_policies', mark)[0], rules: rules.map(ruleText).toSorted() };
  });
  for (let n = 0; n < 4; n++) {
    const members = writer.random
      .some(CIDRS)
      .map((cidr) => ({ cidr, action: writer.random.oneOf(['allow', 'deny'] as const) }));
    const outcome = await writer.attempt((client) => client.replaceRules(id, { rules: members }));
    const rules = members.map(ruleText).toSorted();
    const replace = (state: State | { rules: readonly [] }) => {
      if (!('revision' in state) || state.rules.join() === rules.join()) return state;
      return { ...state, rules, revision: state.revision + 1 };
    };
    policy.write(replace, outcome.kind === 'done');
  }
  if (writer.random.chance(0.5)) return;
  const deleted = await writer.attempt((client) => client.ipPolicies.delete(id), 'NOT_FOUND');
  policy.write(() => ({ rules: [] }), deleted.kind !== 'unknown');
};

const ruleText = ({ cidr, action }: Readonly<Record<string, unknown>>) => `${action} ${cidr}`;

/** An edge with what hangs on it, which goes with it. */
const buildsEdge: Story = async (writer, mark) => {
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

/** References to what may be deleted meanwhile. */
const restrictsTlsEdge: Story = async (writer, mark) => {
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

const TYPES = ['user_created.v0', 'ip_policy_updated.v0', 'credential_deleted.v0'];

const subscribes: Story = async (writer, mark) => {
  interface State extends Thing {
    readonly sources: readonly string[];
  }
  const webhook = { target: { webhook: { url: 'https://hooks.example.com/' } }, metadata: mark };
  const destination = await writer.settled((client) => client.eventDestinations.create(webhook, under(`${mark}-to`)));
  const body = { destination_ids: [destination.id], metadata: mark };
  const { id } = await writer.settled((client) => client.eventSubscriptions.create(body, under(mark)));
  const subscription = new Possible<State>({ id, revision: 1, sources: [] });
  writer.track(mark, subscription, (stored) => stored.marked('event_subscriptions', mark)[0]);
  const setSources = (change: (sources: readonly string[]) => readonly string[]) => (state: State) => {
    const sources = change(state.sources);
    return sources.length === state.sources.length ? state : { ...state, sources, revision: state.revision + 1 };
  };

  const known: string[] = [];
  for (const type of TYPES) {
    const options = writer.random.chance(0.5) ? under(`${mark}-${type}`) : {};
    const added = await writer.attempt((client) => client.eventSources(id).create(type, options), 'CONFLICT');
    subscription.write(
      setSources((sources) => (sources.includes(type) ? sources : [...sources, type])),
      added.kind !== 'unknown',
    );
    if (added.kind !== 'unknown') known.push(type);
  }
  if (known.length === 0) return;
  const gone = writer.random.oneOf(known);
  const removed = await writer.attempt((client) => client.eventSources(id).delete(gone), 'NOT_FOUND');
  subscription.write(
    setSources((sources) => sources.filter((type) => type !== gone)),
    removed.kind !== 'unknown',
  );
};

const issuesTokens: Story = async (writer, mark) => {
  const things = trackThings(writer, 'credentials', mark);
  const create = () => writer.settled((client) => client.credentials.create({ metadata: mark }, under(mark)));
  const first = await create();
  const again = await create();
  writer.require(first.token !== null && first.token === again.token, `${mark}: a replay with another token`);
  things.write(() => [{ id: first.id, revision: 1 }], true);
  writer.keepToken(first.id, String(first.token));
  if (writer.random.chance(0.7)) return;
  const deleted = await writer.attempt((client) => client.credentials.delete(first.id), 'NOT_FOUND');
  writer.dropToken(first.id);
  things.write(() => [], deleted.kind !== 'unknown');
};

export const stories: readonly Story[] = [
  createsPlainly,
  createsUnderKey,
  createsTwice,
  closesKey,
  patches,
  deletes,
  replacesRules,
  buildsEdge,
  restrictsTlsEdge,
  subscribes,
  issuesTokens,
];

const under = (idempotencyKey: string): CreateOptions => ({ idempotencyKey });

const same = (one: { value: { id: string } }, other: { value: { id: string } }) =>
  JSON.stringify(one.value) === JSON.stringify(other.value);

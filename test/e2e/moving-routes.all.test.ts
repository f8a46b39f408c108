/** Routes that move to another edge or path, and edges to other hostports: what they leave and what they wait for. */
import { describe, expect, test } from 'vitest';
import { GROUP } from '../../src/operator/contract/names.ts';
import { eventually, manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'moving' });
const { client } = stack;

const DOMAINS = ours('reserveddomains');
const EDGES = ours('httpsedges');
const TLS_EDGES = ours('tlsedges');
const ROUTES = ours('httpsedgeroutes');
const MODULES = ours('httpsedgeroutemodules');

const object = (kind: string, name: string, spec: object) => manifest({ name: kind }, name, spec);

const route = (name: string, edge: string, match = `/${name}`) =>
  object('HTTPSEdgeRoute', name, { edgeRef: { name: edge }, match, matchType: 'path_prefix' });

/** What signs users in to the route. */
const modules = (name: string) => {
  const oidc = { issuer: 'https://id.example.com', clientId: { value: 'a' }, clientSecret: { value: 'b' } };
  return object('HTTPSEdgeRouteModules', name, { routeRef: { name }, oidc });
};

/** Makes edges, and returns their ids. */
async function edges(...names: string[]) {
  await stack.apply(...names.map((name) => object('HTTPSEdge', name, {})));
  return Promise.all(names.map(async (name) => String((await stack.ready(EDGES, name)).status.id)));
}

const routesOf = (edge: string | undefined) => Array.fromAsync(client.httpsEdgeRoutes(String(edge)).list());

async function clear() {
  const kinds = [MODULES, ROUTES, EDGES, TLS_EDGES, DOMAINS].map(({ plural }) => plural).join();
  await stack.run('delete', kinds, '--all', '--timeout=30s');
  expect(await stack.remoteIds()).toEqual([]);
}

test('a route that moves keeps its old place until its modules have moved, too', async () => {
  const [from] = await edges('from', 'to');
  await stack.apply(route('safe', 'from'), modules('safe'));
  const { status: before } = await stack.ready(MODULES, 'safe');
  await stack.annotate(MODULES, 'safe', { [`${GROUP}/paused`]: 'true' });
  await stack.reason(MODULES, 'safe', 'Synced', 'Paused');
  await stack.apply(route('safe', 'to'));
  await eventually(async () => expect((await stack.ready(ROUTES, 'safe')).status.id).not.toBe(before.id));
  await stack.reconciled(ROUTES, 'safe');
  expect(await routesOf(from)).toMatchObject([{ modules: ['oidc'] }]);

  await stack.annotate(MODULES, 'safe', { [`${GROUP}/paused`]: null });
  await eventually(async () => expect(await routesOf(from)).toEqual([]));
  expect((await stack.ready(MODULES, 'safe')).status.id).toBe((await stack.ready(ROUTES, 'safe')).status.id);
  await clear();
});

test('a route moves to another edge', async () => {
  const [one, two] = await edges('one', 'two');
  await stack.apply(route('moving', 'one'));
  await stack.ready(ROUTES, 'moving');
  await stack.apply(route('moving', 'two'));
  await eventually(async () => {
    const { status } = await stack.ready(ROUTES, 'moving');
    expect(status.id).toMatch(new RegExp(`^${two}/`));
  });
  await eventually(async () => expect(await routesOf(one)).toEqual([]));
  await clear();
});

describe('a route that was to move stays', () => {
  test('when its successor is refused and the spec is put back', async () => {
    const [here, there] = await edges('here', 'there');
    const theirs = await client.httpsEdgeRoutes(String(there)).create({ match: '/back', match_type: 'path_prefix' });
    await stack.apply(route('back', 'here'));
    const { status: before } = await stack.ready(ROUTES, 'back');
    await stack.apply(route('back', 'there'));
    const { ready } = await stack.reason(ROUTES, 'back', 'Ready', 'Rejected');
    expect(ready?.message).toContain(theirs.id);
    await stack.apply(route('back', 'here'));
    const { status } = await stack.ready(ROUTES, 'back');
    expect(status).toMatchObject({ id: before.id });
    expect(status.retiring).toBeUndefined();
    expect(await routesOf(here)).toHaveLength(1);
    expect(await routesOf(there)).toMatchObject([{ id: theirs.id }]);
    expect((await stack.events('back')).map(({ reason }) => reason)).not.toContain('Replaced');

    // Nothing is left in the way of a later move.
    await client.httpsEdgeRoutes(String(there)).delete(theirs.id);
    await stack.apply(route('back', 'there'));
    await eventually(async () => expect(await routesOf(here)).toEqual([]));
    expect((await stack.ready(ROUTES, 'back')).status.id).toBe(`${there}/${(await routesOf(there))[0]?.id}`);
    const replaced = (await stack.events('back')).filter(({ reason }) => reason === 'Replaced');
    expect(replaced.map(({ message }) => message)).toEqual([expect.stringContaining(String(before.id))]);
    await clear();
  });

  test('when the object returns before it has gone', async () => {
    const [here, there] = await edges('here', 'there');
    await stack.apply(route('again', 'here'), modules('again'));
    await stack.ready(MODULES, 'again');
    const { status: before } = await stack.ready(ROUTES, 'again');
    await stack.annotate(MODULES, 'again', { [`${GROUP}/paused`]: 'true' });
    await stack.reason(MODULES, 'again', 'Synced', 'Paused');
    await stack.apply(route('again', 'there'));
    await eventually(async () => expect((await stack.ready(ROUTES, 'again')).status.id).not.toBe(before.id));
    await stack.apply(route('again', 'here'));
    await eventually(async () => expect((await stack.ready(ROUTES, 'again')).status.id).toBe(before.id));
    await eventually(async () => expect(await routesOf(there)).toEqual([]));
    expect(await routesOf(here)).toMatchObject([{ modules: ['oidc'] }]);
    await stack.annotate(MODULES, 'again', { [`${GROUP}/paused`]: null });
    await stack.ready(MODULES, 'again');
    await clear();
  });
});

describe('objects that wait for each other', () => {
  const matches = async (edge: string | undefined) => (await routesOf(edge)).map(({ id, match }) => [id, match]);
  const ownId = async (name: string) => String((await stack.ready(ROUTES, name)).status.id).split('/')[1];
  const ownIds = (...names: string[]) => Promise.all(names.map(ownId));

  test.for([
    ['two routes that swap their paths', ['/b', '/a', '/c']],
    ['three routes, of which each takes the path of the next', ['/b', '/c', '/a']],
  ] as const)('%s', async ([, [one, two, three]]) => {
    const [edge] = await edges('swap');
    await stack.apply(route('a', 'swap', '/a'), route('b', 'swap', '/b'), route('c', 'swap', '/c'));
    const ids = await ownIds('a', 'b', 'c');
    await stack.apply(route('a', 'swap', one), route('b', 'swap', two), route('c', 'swap', three));
    expect(await ownIds('a', 'b', 'c')).toEqual(ids);
    expect((await matches(edge)).sort()).toEqual(ids.map((id, index) => [id, [one, two, three][index]]).sort());
    const reasons = await Promise.all(['a', 'b', 'c'].map(async (name) => stack.events(name)));
    expect(reasons.flat().map(({ reason }) => reason)).not.toContain('DriftCorrected');
    await clear();
  });

  test('two routes that swap their edges', async () => {
    const [left, right] = await edges('left', 'right');
    await stack.apply(route('a', 'left', '/'), route('b', 'right', '/'));
    const before = await ownIds('a', 'b');
    await stack.apply(route('a', 'right', '/'), route('b', 'left', '/'));
    await eventually(async () => {
      const [a, b] = await ownIds('a', 'b');
      expect(await matches(left)).toEqual([[b, '/']]);
      expect(await matches(right)).toEqual([[a, '/']]);
    });
    expect(await ownIds('a', 'b')).not.toEqual(expect.arrayContaining(before));
    await clear();
  });

  test('two edges, of different kinds, that swap some of their hostports', async () => {
    const domain = (name: string) => object('ReservedDomain', name, { domain: `${name}.example.com` });
    const at = (...names: string[]) => ({ hostports: names.map((name) => `${name}.example.com:443`) });
    await stack.apply(...['one', 'two', 'three', 'four'].map(domain));
    await stack.apply(object('HTTPSEdge', 'ports', at('one', 'two')), object('TLSEdge', 'ports', at('three', 'four')));
    const of = [EDGES, TLS_EDGES];
    const ids = await Promise.all(of.map(async (each) => (await stack.ready(each, 'ports')).status.id));
    await stack.apply(object('HTTPSEdge', 'ports', at('one', 'three')), object('TLSEdge', 'ports', at('two', 'four')));
    for (const each of of) await stack.ready(each, 'ports');
    const found = [await client.httpsEdges.get(String(ids[0])), await client.tlsEdges.get(String(ids[1]))];
    expect(found).toMatchObject([at('one', 'three'), at('two', 'four')]);
    await clear();
  });

  test('nothing is given up for what a stranger has', async () => {
    const [edge] = await edges('strange');
    const theirs = await client.httpsEdgeRoutes(String(edge)).create({ match: '/theirs', match_type: 'path_prefix' });
    await stack.apply(route('a', 'strange', '/a'), route('b', 'strange', '/b'));
    const ids = await ownIds('a', 'b');
    await stack.apply(route('a', 'strange', '/b'), route('b', 'strange', '/theirs'));
    for (const name of ['a', 'b']) await stack.reason(ROUTES, name, 'Ready', 'Rejected');
    for (const name of ['a', 'b']) await stack.reconciled(ROUTES, name);
    expect(await matches(edge)).toEqual(
      expect.arrayContaining([
        [ids[0], '/a'],
        [ids[1], '/b'],
      ]),
    );
    await client.httpsEdgeRoutes(String(edge)).delete(theirs.id);
    expect(await ownIds('a', 'b')).toEqual(ids);
    await clear();
  });
});

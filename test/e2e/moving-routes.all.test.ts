/** Routes that move to another edge: what they leave behind, and what becomes of a move that is put back. */
import { describe, expect, test } from 'vitest';
import { GROUP } from '../../src/operator/contract/names.ts';
import { eventually, manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'moving' });
const { client } = stack;

const EDGES = ours('httpsedges');
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
  const kinds = [MODULES, ROUTES, EDGES].map(({ plural }) => plural).join();
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

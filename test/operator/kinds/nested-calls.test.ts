import { afterAll, expect, test } from 'vitest';
import { startApi } from '../../../src/api/server.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { createClient } from '../../../src/client/client.ts';
import { httpsEdgeRouteKind } from '../../../src/operator/kinds/https-edge-route.ts';
import { nestedCalls, partsOfId } from '../../../src/operator/kinds/nested-calls.ts';
import { httpsEdge } from '../../../src/resources/https-edge.ts';
import { createTestDatabase } from '../../harness.ts';

const API_KEY = 'tnl_ak_nested_calls_of_the_tests_0123456789';
const databaseUrl = await createTestDatabase({
  name: 'template_api',
  prepare: async (url) => void (await migrate(url)),
});
const api = await startApi({ databaseUrl, port: 0, bootstrapApiKey: API_KEY });
const client = createClient({ baseUrl: api.url, apiKey: API_KEY });
afterAll(async () => {
  await client.close();
  await api.stop();
});

test('a list goes on when a parent is deleted while it is read', async () => {
  const edges = await Promise.all([1, 2, 3].map(() => client.httpsEdges.create({})));
  const routes = httpsEdgeRouteKind.calls(client);
  for (const { id } of edges) await routes.create({ edge_id: id, match: '/', match_type: 'path_prefix' });
  const seen: string[] = [];
  for await (const { id } of routes.list()) {
    const [edge = ''] = id.split('/');
    // The first one is being read, the second goes, the third is still there.
    const next = edges.find((each) => each.id !== edge);
    if (seen.length === 0 && next) await client.httpsEdges.delete(next.id);
    seen.push(edge);
  }
  expect(seen).toHaveLength(2);
});

test('a list of some resources reads only their parents', async () => {
  const routes = httpsEdgeRouteKind.calls(client);
  const created = await Promise.all(
    [1, 2].map(async () => {
      const { id } = await client.httpsEdges.create({});
      return routes.create({ edge_id: id, match: '/', match_type: 'path_prefix' });
    }),
  );
  const gone = await client.httpsEdges.create({});
  await client.httpsEdges.delete(gone.id);
  const [wanted = ''] = created.map(({ id }) => id);
  const listed = await Array.fromAsync(
    routes.list({}, new Set([wanted, `${gone.id}/edghtsrt_01jd0000000000000000000000`, 'none'])),
  );
  expect(listed.map(({ id }) => id)).toEqual([wanted]);
});

test('a resource is named by where it is, and is there until its delete has been answered', async () => {
  const routes = httpsEdgeRouteKind.calls(client);
  const edge = await client.httpsEdges.create({});
  const { id, uri } = await routes.create({ edge_id: edge.id, match: '/', match_type: 'path_prefix' });
  const { parent, own } = partsOfId(id);
  expect([parent, routes.idOf?.({ id: own, uri }), routes.isId?.(id)]).toEqual([edge.id, id, true]);
  expect([`${parent}/none`, `none/${own}`].map((other) => routes.isId?.(other))).toEqual([false, false]);
  expect(await routes.get(id)).toMatchObject({ id });
  expect(await routes.update(id, { description: 'new' })).toMatchObject({ id, description: 'new' });
  await routes.delete(id);
  for (const call of [routes.get, routes.delete]) await expect(call(id)).rejects.toThrow(/does not exist/);
});

test('what has no parent in its id or its address belongs to none', () => {
  const routes = httpsEdgeRouteKind.calls(client);
  expect(partsOfId('none')).toEqual({ parent: '', own: 'none' });
  expect(partsOfId('/x')).toEqual({ parent: '', own: 'x' });
  expect([routes.isId?.('none'), routes.idOf?.({ id: 'none', uri: 'nowhere' })]).toEqual([false, '/none']);
});

test('a list ends with what its parents fail with, unless they are gone', async () => {
  const failing = async function* () {
    yield* [];
    throw new Error('the connection broke');
  };
  const calls = nestedCalls(client.httpsEdges, () => ({ ...httpsEdgeRouteKind.calls(client), list: failing }), {
    prefix: 'edghtsrt',
    parent: { of: httpsEdge, parameter: 'edge_id' } as never,
  });
  await client.httpsEdges.create({});
  await expect(Array.fromAsync(calls.list())).rejects.toThrow('the connection broke');
});

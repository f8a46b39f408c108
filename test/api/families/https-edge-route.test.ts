import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { idempotencyDigest } from '../../../src/resources/definition/idempotency.ts';
import { httpsEdgeRoute } from '../../../src/resources/https-edge-route.ts';
import { heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const withId = z.looseObject({ id: z.string(), uri: z.string() });

const newEdge = async () => (await admin.post('/edges/https', {})).as(withId).id;
const routesOf = (edge: string) => `/edges/https/${edge}/routes`;
const create = async (edge: string, body: object = {}, headers = {}) =>
  (await admin.post(routesOf(edge), { match: '/', match_type: 'path_prefix', ...body }, headers)).as(
    httpsEdgeRoute.view,
  );

describe('two spellings of one path', () => {
  const post = async (edge: string, match: string, match_type = 'path_prefix') =>
    admin.post(routesOf(edge), { match, match_type });

  test.each([
    ['/admin', '/%61dmin'],
    ['/a%2Fb', '/a%2fb'],
    ['/~a', '/%7Ea'],
  ])('are one route: %s and %s', async (first, second) => {
    const edge = await newEdge();
    const { id, match } = (await post(edge, second)).as(httpsEdgeRoute.view);
    expect(match).toBe(first);
    const { status, error } = await post(edge, first);
    expect({ status, ...error.details }).toMatchObject({ status: 409, '/match': `is already used by ${id}` });
    const other = (await post(edge, '/other')).as(httpsEdgeRoute.view);
    const moved = await admin.patch(`${routesOf(edge)}/${other.id}`, { match: second });
    expect(moved.status).toBe(409);
  });
});

describe('a prefix with a wildcard', () => {
  test.each([
    ['/shop/*', '/shop/'],
    ['/shop/**', '/shop/'],
    ['/shop*', '/shop'],
    ['/*', '/'],
    ['/a/*/b', '/a/'],
  ])('is refused with what to write: %s', async (match, meant) => {
    const { status, error } = await admin.post(routesOf(await newEdge()), { match, match_type: 'path_prefix' });
    expect(status).toBe(400);
    expect(error.details['/match']).toContain(`a prefix needs none, so write "${meant}"`);
  });

  test('is refused if the type changes, and stays changeable otherwise if it is stored', async () => {
    const edge = await newEdge();
    const { id } = await create(edge, { match: '/shop/*', match_type: 'exact_path' });
    const address = `${routesOf(edge)}/${id}`;
    expect((await admin.patch(address, { match_type: 'path_prefix' })).error.details).toHaveProperty('/match');
    await api.rows("update https_edge_routes set match_type = 'path_prefix' where id = $1", [id]);
    expect((await admin.patch(address, { description: 'as before' })).as(httpsEdgeRoute.view).match).toBe('/shop/*');
  });
});

test('closing the idempotency key of a route names its address', async () => {
  const { id, uri } = await create(await newEdge(), {}, { 'idempotency-key': 'a-route' });
  const closed = await admin.put(`/idempotency_keys/${idempotencyDigest('a-route')}/closed`);
  expect(JSON.parse(closed.text)).toMatchObject({ resource: { id, uri } });
});

describe('deleting an HTTPS edge', () => {
  test('deletes any number of routes with their modules and references, with an event for each', async () => {
    const edge = await newEdge();
    const backend_id = (await admin.post('/backends/http_response', {})).as(withId).id;
    const matches = Array.from({ length: 250 }, (_, n) => `/many-${n}`);
    const routes = await Promise.all(matches.map((match) => create(edge, { match, backend_id })));
    const oauth = { provider: { google: {} } };
    expect((await admin.put(`${routesOf(edge)}/${routes[0]?.id}/oauth`, oauth)).status).toBe(200);
    expect((await admin.delete(`/edges/https/${edge}`)).status).toBe(204);
    expect(await api.rows('select 1 from https_edge_routes where edge_id = $1', [edge])).toEqual([]);
    expect(await api.rows('select 1 from modules where owner_id = $1', [routes[0]?.id])).toEqual([]);
    const text = "select 1 from events where type = 'https_edge_route_deleted.v0' and payload->>'match' like '/many-%'";
    expect(await api.rows(text)).toHaveLength(250);
    expect((await admin.delete(`/backends/http_response/${backend_id}`)).status).toBe(204);
  });

  test('leaves nothing of a module that is put at the same time', async () => {
    const edge = await newEdge();
    const { id } = await create(edge);
    const held = await heldTransaction(api.databaseUrl);
    await held.query('select 1 from https_edge_routes where id = $1 for update', [id]);
    const put = admin.put(`${routesOf(edge)}/${id}/oauth`, { provider: { google: {} } });
    await untilWaiting(api, 1);
    const gone = admin.delete(`/edges/https/${edge}`);
    await untilWaiting(api, 2);
    await held.commit();
    expect((await put).status).toBe(200);
    expect((await gone).status).toBe(204);
    expect(await api.rows('select 1 from modules where owner_id = $1', [id])).toEqual([]);
  });
});

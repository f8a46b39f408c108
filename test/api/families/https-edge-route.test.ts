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

describe('the path of a route', () => {
  const { match } = httpsEdgeRoute.create.shape;
  const reason = (path: string) => match.safeParse(path).error?.issues[0]?.message;

  test.each(['/', '/api', '/a%20b', "/~a/b;c=d,e:@!$&'()*+", '/%C3%A9', '/%2e%2e%2e', '/a%2e', '/%2ewell', '/...'])(
    'may be %s',
    (path) => expect(reason(path)).toBeUndefined(),
  );

  test.each(['/%2e', '/%2E%2e/b', '/.%2e', '/a/%2e./b', '/%2E/', '/.', '/a/../b'])(
    'may not be %s, in which servers read dots',
    (path) => expect(reason(path)).toMatch(/segment.*%2e/),
  );

  test.each(['', 'api', '/a b', '/a?b', '/a#b', '/é', '/%zz', '/a\n'])('may not be %j', (path) =>
    expect(reason(path)).toMatch(/must be a path/),
  );
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

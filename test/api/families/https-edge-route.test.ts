import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { newId } from '../../../src/resources/definition/id.ts';
import { httpsEdgeRoute } from '../../../src/resources/https-edge-route.ts';
import { BASE, heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const withId = z.looseObject({ id: z.string(), uri: z.string() });
const list = z.object({ routes: z.array(httpsEdgeRoute.view), uri: z.string(), next_page_uri: z.string().nullable() });

const newEdge = async () => (await admin.post('/edges/https', {})).as(withId).id;
const routesOf = (edge: string) => `/edges/https/${edge}/routes`;
const create = async (edge: string, body: object = {}) =>
  (await admin.post(routesOf(edge), { match: '/', match_type: 'path_prefix', ...body })).as(httpsEdgeRoute.view);

const edge = await newEdge();

describe('a route of an HTTPS edge', () => {
  test('is created, shown, listed, changed and deleted', async () => {
    const backend = (await admin.post('/backends/http_response', {})).as(withId);
    const own = await newEdge();
    const sent = { description: 'd', metadata: 'm', match: '/api', match_type: 'exact_path' };
    const reply = await admin.post(routesOf(own), { ...sent, backend_id: backend.id });
    const created = reply.as(httpsEdgeRoute.view);
    const { id, created_at } = created;
    const uri = `${BASE}${routesOf(own)}/${id}`;
    const shown = { id: backend.id, uri: backend.uri };
    expect(created).toEqual({
      ...sent,
      id,
      uri,
      created_at,
      edge: { id: own, uri: `${BASE}/edges/https/${own}` },
      backend: shown,
      modules: [],
    });
    expect(id).toMatch(/^edghtsrt_/);
    expect(reply.headers.location).toBe(uri);
    const path = `${routesOf(own)}/${id}`;
    expect((await admin.get(path)).as(httpsEdgeRoute.view)).toEqual(created);
    const page = (await admin.get(routesOf(own))).as(list);
    expect(page).toEqual({ routes: [created], uri: `${BASE}${routesOf(own)}`, next_page_uri: null });
    const changed = (await admin.patch(path, { match: '/v2', backend_id: null })).as(httpsEdgeRoute.view);
    expect(changed).toEqual({ ...created, match: '/v2', backend: null });
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(path)).status).toBe(404);
  });

  test('is listed page by page, with its edge only', async () => {
    const [own, other] = [await newEdge(), await newEdge()];
    const made = [];
    for (const match of ['/a', '/b', '/c']) made.push(await create(own, { match }));
    await create(other);
    const first = (await admin.get(`${routesOf(own)}?limit=2`)).as(list);
    expect(first.routes.map(({ match }) => match)).toEqual(['/c', '/b']);
    expect(first.next_page_uri).toBe(`${BASE}${routesOf(own)}?before_id=${made[1]?.id}&limit=2`);
    const second = (await admin.get(first.next_page_uri?.replace(BASE, '') ?? '')).as(list);
    expect(second.routes.map(({ match }) => match)).toEqual(['/a']);
    expect(second.next_page_uri).toBeNull();
  });

  test('is reached through its own edge only', async () => {
    const { id } = await create(edge, { match: '/own' });
    const other = `${routesOf(await newEdge())}/${id}`;
    expect((await admin.get(other)).status).toBe(404);
    expect((await admin.patch(other, { match: '/x' })).status).toBe(404);
    expect((await admin.delete(other)).status).toBe(404);
    expect((await admin.get(`${routesOf(edge)}/${id}`)).status).toBe(200);
  });

  test('has an edge that exists', async () => {
    const missing = newId('edghts');
    const { error } = await admin.post(routesOf(missing), { match: '/', match_type: 'path_prefix' });
    expect(error).toMatchObject({ error_code: 'NOT_FOUND', details: { edge_id: missing } });
    expect((await admin.get(routesOf(missing))).error.details).toMatchObject({ edge_id: missing });
    expect((await admin.get('/edges/https/nonsense/routes')).error.details.edge_id).toMatch(/edghts_/);
  });

  test('may repeat its edge in the body, but name no other', async () => {
    const body = { match: '/repeated', match_type: 'path_prefix' };
    expect((await admin.post(routesOf(edge), { ...body, edge_id: await newEdge() })).status).toBe(400);
    expect((await admin.post(routesOf(edge), { ...body, edge_id: edge })).status).toBe(201);
  });

  test('is the only one of its edge for one path and way of matching', async () => {
    const own = await newEdge();
    const { id } = await create(own, { match: '/a' });
    const again = await admin.post(routesOf(own), { match: '/a', match_type: 'path_prefix' });
    expect(again.error).toMatchObject({ error_code: 'CONFLICT', details: { id } });
    expect(again.error.details['/match']).toContain(id);
    const exact = await create(own, { match: '/a', match_type: 'exact_path' });
    const same = await admin.patch(`${routesOf(own)}/${exact.id}`, { match_type: 'path_prefix' });
    expect(same.error.error_code).toBe('CONFLICT');
    await create(await newEdge(), { match: '/a' });
  });

  test.each(['/', '/api', '/api/', '/a%20b', "/~a/b;c=d,e:@!$&'()*+", '/é'.replace('é', '%C3%A9')])(
    'may match %s',
    async (match) => {
      expect((await create(await newEdge(), { match })).match).toBe(match);
    },
  );

  test.each(['/%2e', '/%2E%2e/b', '/.%2e', '/a/%2e./b', '/%2E/'])(
    'may not match %s: servers read dots there',
    async (match) => {
      const { error } = await admin.post(routesOf(edge), { match, match_type: 'path_prefix' });
      expect(error.details['/match']).toMatch(/segment.*%2e/);
    },
  );

  test.each(['/%2e%2e%2e', '/a%2e', '/%2ewell-known', '/...'])(
    'may match %s, which is no dot segment',
    async (match) => {
      expect((await create(await newEdge(), { match })).match).toBe(match);
    },
  );

  test.each(['', 'api', '/a b', '/a?b', '/a#b', '/é', '/%zz', '/a/../b', '/.', '/a\n', `/${'x'.repeat(1024)}`])(
    'may not match %j',
    async (match) => {
      const { error } = await admin.post(routesOf(edge), { match, match_type: 'path_prefix' });
      expect(error.details).toHaveProperty(['/match']);
    },
  );

  test.each([
    ['/match', { match: undefined }],
    ['/match_type', { match_type: undefined }],
    ['/match_type', { match_type: 'regex' }],
    ['/backend_id', { backend_id: newId('ipp') }],
    ['/backend_id', { backend_id: newId('bkdtg') }],
    ['/backend_id', { backend_id: newId('bkdhr') }],
    ['/modules', { modules: [] }],
    ['/description', { description: 'x'.repeat(256) }],
  ])('a wrong %s is refused by name: %o', async (pointer, wrong) => {
    const { error } = await admin.post(routesOf(edge), { match: '/wrong', match_type: 'path_prefix', ...wrong });
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details).toHaveProperty([pointer]);
  });

  test('keeps its backend from being deleted', async () => {
    const backend = (await admin.post('/backends/tunnel_group', { labels: { a: 'b' } })).as(withId);
    const { id } = await create(await newEdge(), { backend_id: backend.id });
    const { error } = await admin.delete(`/backends/tunnel_group/${backend.id}`);
    expect(error).toMatchObject({ error_code: 'RESOURCE_IN_USE', details: { https_edge_route: id } });
  });

  test('is created once under an idempotency key, which can be closed', async () => {
    const headers = { 'idempotency-key': 'a-route' };
    const body = { match: '/idempotent', match_type: 'path_prefix' };
    const first = (await admin.post(routesOf(edge), body, headers)).as(httpsEdgeRoute.view);
    const again = await admin.post(routesOf(edge), body, headers);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.as(httpsEdgeRoute.view)).toEqual(first);
    const { idempotencyDigest } = await import('../../../src/resources/definition/idempotency.ts');
    const closed = await admin.put(`/idempotency_keys/${idempotencyDigest('a-route')}/closed`);
    expect(JSON.parse(closed.text)).toMatchObject({ resource: { id: first.id, uri: first.uri } });
  });
});

describe('deleting an HTTPS edge', () => {
  test('deletes its routes with their modules and references, and says so', async () => {
    const own = await newEdge();
    const backend = (await admin.post('/backends/http_response', {})).as(withId);
    const routes = [];
    for (const match of ['/a', '/b']) routes.push(await create(own, { match, backend_id: backend.id }));
    const oauth = { provider: { google: {} } };
    expect((await admin.put(`${routesOf(own)}/${routes[0]?.id}/oauth`, oauth)).status).toBe(200);
    expect((await admin.delete(`/edges/https/${own}`)).status).toBe(204);
    for (const { id } of routes) {
      const [last] = await api.rows('select type from events where resource_id = $1 order by id desc limit 1', [id]);
      expect(last?.type).toBe('https_edge_route_deleted.v0');
      expect(await api.rows('select 1 from modules where owner_id = $1', [id])).toEqual([]);
    }
    expect((await admin.delete(`/backends/http_response/${backend.id}`)).status).toBe(204);
  });

  test('deletes very many of them, each round beginning where the last ended, and tells of each', async () => {
    const own = await newEdge();
    const made: string[] = [];
    for (let n = 0; n < 250; n++) made.push((await create(own, { match: `/many-${n}` })).id);
    const begun: unknown[] = [];
    const { transaction } = api.db;
    const transactions = vi.spyOn(api.db, 'transaction').mockImplementation((work) =>
      transaction((tx) =>
        work({
          query(statement) {
            if (statement.name === 'https_edge_routes.by_edge_id') begun.push(statement.values[1]);
            return tx.query(statement);
          },
        }),
      ),
    );
    expect((await admin.delete(`/edges/https/${own}`)).status).toBe(204);
    transactions.mockRestore();
    made.sort();
    expect(begun).toEqual(['', made[99], made[199]]);
    expect(await api.rows('select 1 from https_edge_routes where edge_id = $1', [own])).toEqual([]);
    const text = "select 1 from events where type = 'https_edge_route_deleted.v0' and payload->>'match' like '/many-%'";
    expect(await api.rows(text)).toHaveLength(250);
  });

  test('leaves nothing of a module that is put at the same moment', async () => {
    const own = await newEdge();
    const { id } = await create(own);
    const held = await heldTransaction(api.databaseUrl);
    await held.query('select 1 from https_edge_routes where id = $1 for update', [id]);
    const put = admin.put(`${routesOf(own)}/${id}/oauth`, { provider: { google: {} } });
    await untilWaiting(api, 1);
    const gone = admin.delete(`/edges/https/${own}`);
    await untilWaiting(api, 2);
    await held.commit();
    expect((await put).status).toBe(200);
    expect((await gone).status).toBe(204);
    expect(await api.rows('select 1 from modules where owner_id = $1', [id])).toEqual([]);
  });
});

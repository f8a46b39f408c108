/** The operations to interrupt: one for each shape of transaction in the API. */
import { expect } from 'vitest';
import type { z } from 'zod';
import { authentication, credential } from '../../../src/resources/credential.ts';
import { idempotencyDigest, idempotencyScope } from '../../../src/resources/definition/idempotency.ts';
import { eventSubscription } from '../../../src/resources/event-subscription.ts';
import { httpResponseBackend } from '../../../src/resources/http-response-backend.ts';
import { httpsEdge } from '../../../src/resources/https-edge.ts';
import { httpsEdgeRoute } from '../../../src/resources/https-edge-route.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { tlsEdge } from '../../../src/resources/tls-edge.ts';
import type { Reply, TestApi } from '../harness.ts';
import type { Operation, Prepared } from './cut-points.ts';

const COMMIT = /^commit$/;

type Count = { readonly table: string; readonly mark: string };

/** Counts the rows whose metadata is the mark. */
async function count(api: TestApi, { table, mark }: Count): Promise<number> {
  const [row] = await api.rows(`select count(*) as n from ${table} where metadata = $1`, [mark]);
  return Number(row?.n);
}

async function made<T extends z.ZodType>(api: TestApi, path: string, body: unknown, schema: T): Promise<z.output<T>> {
  return (await api.admin.post(path, body)).as(schema);
}

/** A create with an idempotency key: the retry is a replay if the first took effect, and there is one resource. */
function keyedCreate(
  api: TestApi,
  path: string,
  { table, mark }: Count,
  body: object,
  also?: (reply: Reply) => Promise<void>,
): Prepared {
  const headers = { 'idempotency-key': mark };
  return {
    request: { method: 'POST', path, body: { ...body, metadata: mark }, headers },
    async repeated(reply, hadEffect) {
      expect(reply.status).toBe(201);
      expect(reply.headers['idempotency-replayed']).toBe(hadEffect ? 'true' : undefined);
      expect(await count(api, { table, mark })).toBe(1);
      await also?.(reply);
    },
  };
}

async function edgeWithRoutes(api: TestApi, run: number) {
  const name = `edge-${run}.tunnels.internal`;
  await made(api, '/reserved_domains', { domain: name }, reservedDomain.view);
  const edge = await made(api, '/edges/https', { hostports: [`${name}:443`] }, httpsEdge.view);
  const backend = await made(api, '/backends/http_response', {}, httpResponseBackend.view);
  const routes = [];
  for (const match of ['/a', '/b']) {
    const body = { match, match_type: 'path_prefix', backend_id: backend.id };
    routes.push(await made(api, `/edges/https/${edge.id}/routes`, body, httpsEdgeRoute.view));
  }
  const oidc = { issuer: 'https://accounts.example.com', client_id: 'a', client_secret: 'b' };
  const put = await api.admin.put(`/edges/https/${edge.id}/routes/${routes[0]?.id}/oidc`, oidc);
  expect(put.status).toBe(200);
  return { name, edge, routes, backend };
}

export const operations: readonly Operation[] = [
  {
    name: 'a create',
    commit: /^ip_policies\.insert$/,
    async prepare(api, run) {
      const mark = `plain-${run}`;
      return {
        request: { method: 'POST', path: '/ip_policies', body: { metadata: mark } },
        // Without a key the service cannot know that it is the same request.
        async repeated(reply, hadEffect) {
          expect(reply.status).toBe(201);
          expect(await count(api, { table: 'ip_policies', mark })).toBe(hadEffect ? 2 : 1);
        },
      };
    },
  },
  {
    name: 'a create with a token',
    commit: COMMIT,
    prepare: async (api, run) =>
      keyedCreate(api, '/credentials', { table: 'credentials', mark: `token-${run}` }, {}, async (reply) => {
        const { id, token } = reply.as(credential.view);
        const answer = (await api.admin.post('/credentials/authenticate', { token })).as(authentication);
        expect(answer).toMatchObject({ allowed: true, credential_id: id });
      }),
  },
  {
    name: 'a create inside another resource, with a reference',
    commit: COMMIT,
    async prepare(api, run) {
      const { edge, backend } = await edgeWithRoutes(api, run);
      const path = `/edges/https/${edge.id}/routes`;
      const body = { match: '/c', match_type: 'exact_path', backend_id: backend.id };
      return keyedCreate(api, path, { table: 'https_edge_routes', mark: `route-${run}` }, body);
    },
  },
  {
    name: 'adding a source',
    commit: COMMIT,
    async prepare(api, run) {
      const { id } = await made(api, '/event_subscriptions', {}, eventSubscription.view);
      const path = `/event_subscriptions/${id}/sources`;
      const headers = { 'idempotency-key': `source-${run}` };
      return {
        request: { method: 'POST', path, body: { type: 'user_created.v0' }, headers },
        async repeated(reply, hadEffect) {
          expect(reply.headers['idempotency-replayed']).toBe(hadEffect ? 'true' : undefined);
          const { sources } = (await api.admin.get(`/event_subscriptions/${id}`)).as(eventSubscription.view);
          expect(sources.map(({ type }) => type)).toEqual(['user_created.v0']);
        },
      };
    },
  },
  {
    name: 'a PATCH',
    commit: COMMIT,
    async prepare(api, run) {
      const { edge, name } = await edgeWithRoutes(api, run);
      const path = `/edges/https/${edge.id}`;
      return {
        request: { method: 'PATCH', path, body: { hostports: [`${name}:8443`], description: 'b' } },
        async repeated(reply) {
          // However often it is requested, it counts as one change.
          expect(reply.headers.etag).toBe('"2"');
          expect(reply.as(httpsEdge.view)).toMatchObject({ hostports: [`${name}:8443`], description: 'b' });
        },
      };
    },
  },
  {
    name: 'a PUT of a rule set',
    commit: COMMIT,
    async prepare(api) {
      const { id } = await made(api, '/ip_policies', {}, ipPolicy.view);
      const path = `/ip_policies/${id}/rules`;
      const rules = (...members: string[]) => ({
        rules: members.map((member) => ({ cidr: member.slice(1), action: member[0] === '+' ? 'allow' : 'deny' })),
      });
      expect((await api.admin.put(path, rules('+10.0.0.0/8', '+192.0.2.0/24', '-2001:db8::/32'))).status).toBe(200);
      return {
        // One rule stays, one changes, one is removed, one is added.
        request: { method: 'PUT', path, body: rules('+10.0.0.0/8', '-192.0.2.0/24', '+198.51.100.0/24') },
        async repeated(reply) {
          expect(reply.headers.etag).toBe('"3"');
          const text = `select action || ' ' || cidr as rule from ip_policy_rules where ip_policy_id = $1 order by cidr`;
          const rows = await api.rows(text, [id]);
          expect(rows.map(({ rule }) => rule)).toEqual([
            'allow 10.0.0.0/8',
            'deny 192.0.2.0/24',
            'allow 198.51.100.0/24',
          ]);
        },
      };
    },
  },
  {
    name: 'a PUT of a module',
    commit: COMMIT,
    async prepare(api, run) {
      const name = `tls-${run}.tunnels.internal`;
      await made(api, '/reserved_domains', { domain: name }, reservedDomain.view);
      const edge = await made(api, '/edges/tls', { hostports: [`${name}:443`] }, tlsEdge.view);
      const policy = await made(api, '/ip_policies', {}, ipPolicy.view);
      const path = `/edges/tls/${edge.id}/ip_restriction`;
      return {
        request: { method: 'PUT', path, body: { ip_policy_ids: [policy.id] } },
        async repeated(reply) {
          expect(reply.headers.etag).toBe('"2"');
          expect((await api.admin.get(`/edges/tls/${edge.id}`)).as(tlsEdge.view).modules).toEqual(['ip_restriction']);
        },
      };
    },
  },
  {
    name: 'a DELETE of an edge with routes',
    commit: COMMIT,
    async prepare(api, run) {
      const { edge, routes, backend } = await edgeWithRoutes(api, run);
      return {
        request: { method: 'DELETE', path: `/edges/https/${edge.id}` },
        async repeated(reply, hadEffect) {
          expect(reply.status).toBe(hadEffect ? 404 : 204);
          const ids = [edge.id, ...routes.map(({ id }) => id)];
          const left = `select referrer_id from resource_references where referrer_id = any($1)
                        union select owner_id from modules where owner_id = any($1)
                        union select id from https_edge_routes where id = any($1)`;
          expect(await api.rows(left, [ids])).toEqual([]);
          expect((await api.admin.delete(`/backends/http_response/${backend.id}`)).status).toBe(204);
        },
      };
    },
  },
  {
    name: 'a create in an idempotency scope',
    commit: COMMIT,
    async prepare(api, run) {
      const mark = `placed-${run}`;
      const created = keyedCreate(api, '/ip_policies', { table: 'ip_policies', mark }, {});
      const place = { 'idempotency-scope': mark, 'idempotency-sequence': '1' };
      return {
        request: { ...created.request, headers: { ...created.request.headers, ...place } },
        async repeated(reply, hadEffect) {
          await created.repeated(reply, hadEffect);
          const scope = (await api.admin.get(`/idempotency_scopes/${idempotencyDigest(mark)}`)).as(idempotencyScope);
          expect(scope).toMatchObject({ next_sequence: 2, resources: [{ id: reply.as(ipPolicy.view).id }] });
        },
      };
    },
  },
  {
    name: 'closing an idempotency scope',
    commit: /^scope\.close$/,
    async prepare(api, run) {
      const scope = `closed-${run}`;
      const headers = (sequence: number) => ({
        'idempotency-key': `in-scope-${run}-${sequence}`,
        'idempotency-scope': scope,
        'idempotency-sequence': String(sequence),
      });
      const { id } = (await api.admin.post('/ip_policies', {}, headers(1))).as(ipPolicy.view);
      return {
        request: { method: 'PUT', path: `/idempotency_scopes/${idempotencyDigest(scope)}/closed` },
        async repeated(reply) {
          const { resources, next_sequence: next } = reply.as(idempotencyScope);
          expect(resources).toMatchObject([{ id, sequence: 1 }]);
          expect((await api.admin.post('/ip_policies', {}, headers(2))).status).toBe(409);
          expect((await api.admin.post('/ip_policies', {}, headers(next))).status).toBe(201);
        },
      };
    },
  },
];

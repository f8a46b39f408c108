import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { FAMILIES } from '../../../src/resources/families.ts';
import { startTestApi } from '../harness.ts';
import { document } from './openapi-check.ts';

const api = await startTestApi();
const root = join(import.meta.dirname, '../../..');
const json = z.record(z.string(), z.unknown());
const text = JSON.stringify(document);

describe('the OpenAPI document', () => {
  test('is what the server serves', async () => {
    expect(JSON.parse((await api.anonymous.get('/openapi.json')).text)).toEqual(document);
  });

  test.each(['/openapi.json', '/docs/json'])(
    'is sent at %s plain or compressed as requested, and not again to a client that has it',
    async (url) => {
      const ask = (headers: Record<string, string>) => api.app.inject({ url, headers });
      const tags = new Set<unknown>();
      for (const [accepted, coding] of [
        ['gzip, deflate, br', 'gzip'],
        ['br', undefined],
        ['gzip;q=0', undefined],
        ['identity', undefined],
        ['*', 'gzip'],
      ] as const) {
        const reply = await ask({ 'accept-encoding': accepted });
        expect(reply.headers['content-encoding'], accepted).toBe(coding);
        expect(reply.headers).toMatchObject({ vary: 'accept-encoding', 'cache-control': 'no-cache' });
        const bytes = coding === 'gzip' ? gunzipSync(reply.rawPayload) : reply.rawPayload;
        expect(JSON.parse(bytes.toString())).toEqual(document);
        const tag = String(reply.headers.etag);
        tags.add(tag);
        for (const known of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
          const again = await ask({ 'accept-encoding': accepted, 'if-none-match': known });
          expect(again.statusCode).toBe(304);
          expect(again.rawPayload).toHaveLength(0);
          expect(again.headers.etag).toBe(tag);
        }
        expect((await ask({ 'accept-encoding': accepted, 'if-none-match': '"x"' })).statusCode).toBe(200);
      }
      expect(tags.size).toBe(2);
      expect((await ask({ 'accept-encoding': 'gzip' })).rawPayload.length).toBeLessThan(text.length / 4);
    },
  );

  test('is refused with an error if If-None-Match is malformed', async () => {
    const refused = await api.anonymous.get('/openapi.json', { 'if-none-match': 'x' });
    expect(refused.error).toMatchObject({
      error_code: 'INVALID_REQUEST',
      details: { 'If-None-Match': expect.any(String) },
    });
  });

  test('passes the linter', async () => {
    const lint = promisify(execFile)('npx', ['redocly', 'lint', '--format=json', 'docs/openapi.json'], { cwd: root });
    const { stdout } = await lint.catch((error: { stdout: string }) => error);
    expect(json.parse(JSON.parse(stdout)).problems).toEqual([]);
  });

  test('defines each body once and refers to it', () => {
    const bodies = [...text.matchAll(/"application\/json":\{"schema":(\{[^}]*\})/g)].map(([, schema]) => schema);
    expect(bodies.length).toBeGreaterThan(50);
    for (const schema of bodies) expect(schema).toMatch(/^\{"\$ref":"#\/components\/schemas\/\w+"\}$/);
  });

  test('has only schemas from which client generators make types that values fit', () => {
    const { schemas } = z.object({ schemas: json }).parse(document.components);
    const hard = [...nodesOf(schemas)].flatMap(({ at, node }) => {
      const combined = ['oneOf', 'allOf', 'not', 'if', 'dependentSchemas'].filter((keyword) => keyword in node);
      const choices = z.array(json).parse(node.anyOf ?? []);
      if (choices.filter(({ type }) => type !== 'null').length > 1) combined.push('anyOf');
      if (node.type === 'object' && !('properties' in node) && !('additionalProperties' in node)) combined.push('bare');
      return combined.map((problem) => `${at}: ${problem}`);
    });
    expect(hard).toEqual([]);
  });

  test('has no missing and no unused components', () => {
    const { securitySchemes, ...components } = z.record(z.string(), json).parse(document.components);
    const defined = Object.entries(components).flatMap(([kind, members]) =>
      Object.keys(members).map((name) => `#/components/${kind}/${name}`),
    );
    const used = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref));
    expect([...used].sort()).toEqual(defined.toSorted());
  });

  test('has examples that fit their schemas', () => {
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    ajv.addSchema({ $id: 'api', ...document });
    const examples = [...collect(document)];
    expect(examples.length).toBeGreaterThan(50);
    for (const { ref, example } of examples) {
      const validate = ajv.getSchema(`api${ref}`) ?? ajv.compile({ $ref: `api${ref}` });
      expect(validate(example), `${ref} ${JSON.stringify(example)} ${ajv.errorsText(validate.errors)}`).toBe(true);
    }
  });

  test('links each create to the operations on the new resource', () => {
    const link = z.object({ operationId: z.string(), parameters: z.record(z.string(), z.string()) });
    const responses = z.object({ 201: z.object({ links: z.record(z.string(), link) }).optional() });
    const paths = z.record(z.string(), z.record(z.string(), z.object({ responses }))).parse(document.paths);
    const linksOf = (path: string) => paths[path]?.post?.responses[201]?.links ?? {};
    for (const { path } of FAMILIES) expect(Object.keys(linksOf(path)).length, path).toBeGreaterThanOrEqual(3);
    expect(linksOf('/edges/https').createHttpsEdgeRoute?.parameters).toEqual({ edge_id: '$response.body#/id' });
    expect(linksOf('/edges/https/{edge_id}/routes').getHttpsEdgeRouteOidc?.parameters).toEqual({
      edge_id: '$request.path.edge_id',
      id: '$response.body#/id',
    });
    expect(linksOf('/event_subscriptions/{subscription_id}/sources').deleteEventSource?.parameters).toEqual({
      subscription_id: '$request.path.subscription_id',
      type: '$response.body#/type',
    });
  });

  test('describes every operation, parameter and property', () => {
    const { schemas, parameters } = z.object({ schemas: json, parameters: json }).parse(document.components);
    const inline = z.object({ parameters: z.array(json) });
    const operations = Object.entries(z.record(z.string(), z.record(z.string(), json)).parse(document.paths)).flatMap(
      ([path, methods]) => Object.entries(methods).map(([method, each]) => [`${method} ${path}`, each] as const),
    );
    const described = [
      ...operations,
      ...operations.flatMap(([at, each]) =>
        inline.parse(each).parameters.flatMap((one) => ('$ref' in one ? [] : [[`${at} ${one.name}`, one] as const])),
      ),
      ...Object.entries(parameters),
      ...[...nodesOf(schemas)].flatMap(({ at, node }) =>
        Object.entries(json.parse(node.properties ?? {})).map(([name, one]) => [`${at}.${name}`, one] as const),
      ),
    ];
    expect(described.length).toBeGreaterThan(500);
    expect(described.flatMap(([at, one]) => (json.parse(one).description ? [] : [at]))).toEqual([]);
  });

  test('names the errors of each operation, with 403 where only admins may use it', () => {
    const operation = z.object({ responses: json, 'x-access': z.string().optional() });
    const paths = z.record(z.string(), z.record(z.string(), operation)).parse(document.paths);
    for (const operations of Object.values(paths)) {
      for (const { responses, 'x-access': access } of Object.values(operations)) {
        for (const status of ['400', '401', '429', '500', '503']) expect(responses).toHaveProperty(status);
        if (access === 'admin') expect(responses).toHaveProperty('403');
      }
    }
  });
});

describe('GET /docs', () => {
  test('is a reference that loads nothing from other hosts', async () => {
    const page = await api.anonymous.get('/docs/');
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address ?? '');
    expect(loaded.length).toBeGreaterThan(3);
    for (const address of loaded) {
      expect(address).not.toMatch(/^(https?:)?\/\//);
      const path = new URL(address, 'http://x/docs/').pathname;
      expect((await api.anonymous.get(path)).status, path).toBe(200);
    }
    expect(JSON.parse((await api.anonymous.get('/docs/json')).text)).toEqual(document);
  });

  test.each([
    ['index.css', 'text/css; charset=utf-8'],
    ['swagger-ui.js', 'text/javascript; charset=utf-8'],
    ['logo.svg', 'image/svg+xml'],
  ])('serves %s as %s', async (name, type) => {
    expect((await api.anonymous.get(`/docs/static/${name}`)).headers['content-type']).toBe(type);
  });

  test('answers NOT_FOUND for a missing file', async () => {
    expect((await api.anonymous.get('/docs/static/nothing.css')).error.error_code).toBe('NOT_FOUND');
  });
});

/** Every schema inside a node; the names of members are not taken for keywords. */
function* nodesOf(node: unknown, at = ''): Generator<{ at: string; node: Record<string, unknown> }> {
  if (node === null || typeof node !== 'object') return;
  const isSchema = !Array.isArray(node) && at !== '' && !/\/(?:properties|examples|enum)$/.test(at);
  if (isSchema) yield { at, node: { ...node } };
  for (const [name, member] of Object.entries(node)) {
    if (name !== 'examples') yield* nodesOf(member, `${at}/${name}`);
  }
}

function* collect(node: unknown): Generator<{ ref: string; example: unknown }> {
  if (node === null || typeof node !== 'object') return;
  const found = z.object({ schema: z.object({ $ref: z.string() }), example: z.unknown() }).safeParse(node);
  if (found.success && 'example' in node) yield { ref: found.data.schema.$ref, example: found.data.example };
  for (const member of Object.values(node)) yield* collect(member);
}

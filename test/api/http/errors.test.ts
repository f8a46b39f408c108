/** Errors beyond those of the conformance rows, which have one of each code. */
import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/resources/definition/id.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin, anonymous } = api;
const address = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));

describe('an error', () => {
  test('for a path that does not exist is 404', async () => {
    for (const path of ['/', '/nothing', `/ip_policies/${newId('ipp')}/nothing`, '/IP_POLICIES']) {
      expect((await anonymous.get(path)).error.error_code, path).toBe('NOT_FOUND');
    }
  });

  test.each(['..%5c..', '..%5C..%5Cpackage.json', '..%2f..', '%2e%2e/package.json', 'nothing.js', 'csp.json', ''])(
    'for the file %j of the reference is that of every unknown path',
    async (name) => {
      const headers = { 'x-request-id': 'same' };
      const { status, text } = await anonymous.get(`/docs/static/${name}`, headers);
      expect([status, text]).toEqual([404, (await anonymous.get('/nothing', headers)).text]);
    },
  );

  test('for a method that the path does not support is 405, and lists those it supports', async () => {
    expect((await admin.post(`/ip_policies/${newId('ipp')}`)).headers.allow).toBe('DELETE, GET, HEAD, PATCH');
    expect((await admin.send('OPTIONS', '/ip_policies')).status).toBe(405);
    expect((await admin.delete('/healthz')).headers.allow).toBe('GET, HEAD');
  });

  test.each([
    ['QUERY', '/ip_policies', 'GET, HEAD, POST'],
    ['PATCH', '/credentials/authenticate', 'POST'],
  ])('for %s %s is 405, whatever else is wrong', async (method, path, allow) => {
    const url = new URL(path, address);
    for (const headers of [{}, { 'content-type': 'text/plain' }]) {
      const reply = await fetch(url, { method, headers, body: 'x' });
      expect([reply.status, reply.headers.get('allow')]).toEqual([405, allow]);
    }
    expect((await fetch(new URL('/nothing', address), { method, body: 'x' })).status).toBe(404);
  });

  test.each([
    ['{"a":', /JSON/],
    ['[]', /must be a JSON object, not an array/],
    ['{"description":"a","description":"b"}', /"description" twice/],
    ['{"__proto__":{}}', /__proto__/],
    [`{"a":${'['.repeat(40)}${']'.repeat(40)}}`, /nested/],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /UTF-8/],
  ])('for the body %s says what is wrong with it', async (body, reason) => {
    const { error } = await admin.post('/ip_policies', body);
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details.body).toMatch(reason);
  });

  test.each([
    ['an unknown member with a long name', '/ip_policies', { ['~'.repeat(1_000_000)]: 1 }],
    ['an unknown member whose name JSON escapes', '/ip_policies', { ['\u0001'.repeat(170_000)]: 1 }],
    [
      'many unknown members',
      '/ip_policies',
      Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`${at}${'x'.repeat(1000)}`, 1])),
    ],
    ['a label with a long key', '/backends/tunnel_group', { labels: { ['/'.repeat(1_000_000)]: 'x' } }],
    ['a header with a long name', '/backends/http_response', { headers: { ['~'.repeat(1_000_000)]: 'x' } }],
    ['a parameter with a long name', `/ip_policies?${'%01'.repeat(2500)}`, {}],
  ])('for %s has at most 8 KiB', async (_, path, body) => {
    const { text, error } = await admin.post(path, body);
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8 * 1024);
  });

  test('is not returned for an empty body with the content type of JSON', async () => {
    const created = await admin.post('/ip_policies', '', { 'content-type': 'application/json' });
    expect(created.status).toBe(201);
    const { id } = JSON.parse(created.text);
    const deleted = await admin.send('DELETE', `/ip_policies/${id}`, {
      headers: { 'content-type': 'application/json' },
    });
    expect(deleted.status).toBe(204);
  });

  test.each(['nonsense', newId('cr'), `${newId('ipp')}x`, '%00', '..%2f..', 'ipp_', 'x'.repeat(500)])(
    'for the id %s is 404',
    async (id) => {
      expect((await admin.get(`/ip_policies/${id}`)).error.error_code).toBe('NOT_FOUND');
    },
  );

  test('for a malformed percent escape is 400', async () => {
    expect((await admin.get('/ip_policies/%zz')).error.details.path).toMatch(/escape/);
  });
});

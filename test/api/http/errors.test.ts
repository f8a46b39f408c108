import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/resources/definition/id.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin, anonymous } = api;
const address = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));

describe('an error', () => {
  test('has one shape, with the id of the request', async () => {
    const reply = await admin.get('/ip_policies/nonsense', { 'x-request-id': 'from-me' });
    expect(reply.error).toEqual({
      error_code: 'NOT_FOUND',
      status_code: 404,
      msg: expect.any(String),
      details: { id: expect.stringContaining('ipp_'), request_id: 'from-me' },
    });
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'from-me',
    });
  });

  test('is text, whatever it repeats of the request', async () => {
    const cut = `${'a'.repeat(79)}😀`;
    for (const [path, body] of [
      ['/ip_policies', '{"\\ud800": 1}'],
      ['/credentials', JSON.stringify({ acl: [cut] })],
    ] as const) {
      const { error } = await admin.post(path, body);
      expect(error.error_code).toBe('INVALID_REQUEST');
      const texts = [error.msg, ...Object.entries(error.details).flat()];
      expect(texts.filter((text) => !text.isWellFormed())).toEqual([]);
    }
  });

  test('of a path that does not exist is 404', async () => {
    for (const path of ['/', '/nothing', `/ip_policies/${newId('ipp')}/nothing`, '/IP_POLICIES']) {
      expect((await anonymous.get(path)).error.error_code, path).toBe('NOT_FOUND');
    }
  });

  test('of a path that does not take the method is 405, and says which it takes', async () => {
    const reply = await admin.put('/ip_policies', {});
    expect(reply.error.error_code).toBe('METHOD_NOT_ALLOWED');
    expect(reply.headers.allow).toBe('GET, HEAD, POST');
    expect(reply.error.details.allow).toBe('GET, HEAD, POST');
    expect((await admin.post(`/ip_policies/${newId('ipp')}`)).headers.allow).toBe('DELETE, GET, HEAD, PATCH');
    expect((await admin.send('OPTIONS', '/ip_policies')).status).toBe(405);
    expect((await admin.delete('/healthz')).headers.allow).toBe('GET, HEAD');
  });

  test.each([
    ['QUERY', '/ip_policies', 'GET, HEAD, POST'],
    ['PATCH', '/credentials/authenticate', 'POST'],
  ])('of %s %s is that, not what else is wrong', async (method, path, allow) => {
    const url = new URL(path, address);
    for (const headers of [{}, { 'content-type': 'text/plain' }]) {
      const reply = await fetch(url, { method, headers, body: 'x' });
      expect([reply.status, reply.headers.get('allow')]).toEqual([405, allow]);
    }
    expect((await fetch(new URL('/nothing', address), { method, body: 'x' })).status).toBe(404);
  });

  test.each([
    ['{"a":', /JSON/],
    ['nonsense', /JSON/],
    ['[]', /must be a JSON object, not an array/],
    ['"text"', /must be a JSON object, not a string/],
    ['null', /must be a JSON object, not null/],
    ['{"description":"a","description":"b"}', /"description" twice/],
    ['{"description":"a","\\u0064escription":"b"}', /"description" twice/],
    ['{"__proto__":{}}', /__proto__/],
    ['{"a":{"__proto__":1}}', /__proto__/],
    [`{"a":${'['.repeat(40)}${']'.repeat(40)}}`, /nested/],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /UTF-8/],
    ['\ufeff{}', /JSON/],
  ])('of the body %s says what is wrong with it', async (body, reason) => {
    const { error } = await admin.post('/ip_policies', body);
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details.body).toMatch(reason);
  });

  test('names every unknown field and query parameter', async () => {
    const body = await admin.post('/ip_policies', { descripton: 1, 'a/b~c': 2, description: 3 });
    expect(body.error.details).toMatchObject({
      '/descripton': 'unknown field',
      '/a~1b~0c': 'unknown field',
      '/description': 'must be a string, not a number',
    });
    const query = await admin.get('/ip_policies?offset=3&page=1&limit=200');
    expect(query.error.details).toMatchObject({
      '?offset': 'unknown query parameter',
      '?page': 'unknown query parameter',
      '?limit': 'must be a number from 1 to 100',
    });
    const odd = await admin.get('/ip_policies?__proto__=1&constructor=2&=3');
    expect(odd.error.details).toMatchObject({ '?constructor': 'unknown query parameter' });
    expect((await admin.get(`/ip_policies/${newId('ipp')}?expand=1`)).error.details['?expand']).toBe(
      'unknown query parameter',
    );
  });

  test.each([
    ['text/plain', 'x'],
    ['application/xml', '<a/>'],
    ['application/json; charset=latin1', '{}'],
    ['application/json; charset=utf-88', '{}'],
    ['application/x-www-form-urlencoded', 'a=1'],
  ])('of the media type %s is 415', async (type, body) => {
    const { error } = await admin.post('/ip_policies', body, { 'content-type': type });
    expect(error.error_code).toBe('UNSUPPORTED_MEDIA_TYPE');
  });

  test('of a body of another type is 415 also where none is expected', async () => {
    const id = newId('ipp');
    const reply = await admin.send('DELETE', `/ip_policies/${id}`, {
      body: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    expect(reply.error.error_code).toBe('UNSUPPORTED_MEDIA_TYPE');
  });

  test('of a body above the limit is 413', async () => {
    const { error } = await admin.post('/ip_policies', { metadata: 'x'.repeat(1024 * 1024) });
    expect(error.error_code).toBe('PAYLOAD_TOO_LARGE');
  });

  test('does not come from an empty body that is announced as JSON', async () => {
    const created = await admin.post('/ip_policies', '', { 'content-type': 'application/json' });
    expect(created.status).toBe(201);
    const { id } = JSON.parse(created.text);
    const deleted = await admin.send('DELETE', `/ip_policies/${id}`, {
      headers: { 'content-type': 'application/json' },
    });
    expect(deleted.status).toBe(204);
  });

  test('of a body that DELETE has no use for names its fields', async () => {
    const { id } = JSON.parse((await admin.post('/ip_policies')).text);
    expect((await admin.send('DELETE', `/ip_policies/${id}`, { body: { force: true } })).error.details['/force']).toBe(
      'unknown field',
    );
    expect((await admin.send('DELETE', `/ip_policies/${id}`, { body: { id } })).status).toBe(204);
  });

  test('of an id in the body that is not the one in the path names it', async () => {
    const { id } = JSON.parse((await admin.post('/ip_policies')).text);
    expect((await admin.patch(`/ip_policies/${id}`, { id, description: 'x' })).status).toBe(200);
    const other = await admin.patch(`/ip_policies/${id}`, { id: newId('ipp') });
    expect(other.error.details['/id']).toBe('must equal the "id" in the path');
  });

  test.each(['nonsense', newId('cr'), `${newId('ipp')}x`, '%00', '..%2f..', 'ipp_', 'x'.repeat(500)])(
    'of the id %s is 404',
    async (id) => {
      expect((await admin.get(`/ip_policies/${id}`)).error.error_code).toBe('NOT_FOUND');
    },
  );

  test('of an escape that is none is 400', async () => {
    expect((await admin.get('/ip_policies/%zz')).error.details.path).toMatch(/escape/);
  });
});

import { describe, expect, test } from 'vitest';
import { MAX_HEADER_BYTES, MAX_HEADERS } from '../../../src/resources/formats/response-headers.ts';
import { httpResponseBackend, MAX_RESPONSE_BODY } from '../../../src/resources/http-response-backend.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const PATH = '/backends/http_response';

const create = async (body: object) => (await admin.post(PATH, body)).as(httpResponseBackend.view);
const refused = async (body: object) => {
  const { error } = await admin.post(PATH, body);
  expect(error.error_code).toBe('INVALID_REQUEST');
  return error.details;
};

describe('an HTTP response backend', () => {
  test('is created, shown, listed, changed and deleted', async () => {
    const sent = {
      description: 'd',
      metadata: 'm',
      body: 'down for maintenance',
      headers: { 'Content-Type': 'text/plain', 'X-Trace': 'a b' },
      status_code: 503,
    };
    const created = await create(sent);
    const headers = { 'content-type': 'text/plain', 'x-trace': 'a b' };
    expect(created).toEqual({ ...sent, headers, id: created.id, uri: created.uri, created_at: created.created_at });
    expect(created.id).toMatch(/^bkdhr_/);
    expect(created.uri).toBe(`${BASE}${PATH}/${created.id}`);
    expect((await admin.get(`${PATH}/${created.id}`)).as(httpResponseBackend.view)).toEqual(created);
    const list = JSON.parse((await admin.get(`${PATH}?limit=1`)).text);
    expect(list.backends).toEqual([created]);
    expect(list.uri).toBe(`${BASE}${PATH}`);

    const changed = (await admin.patch(`${PATH}/${created.id}`, { status_code: 404 })).as(httpResponseBackend.view);
    expect(changed).toEqual({ ...created, status_code: 404 });
    const reset = (await admin.patch(`${PATH}/${created.id}`, { body: 'x', headers: null, description: null })).as(
      httpResponseBackend.view,
    );
    expect(reset).toEqual({ ...changed, body: 'x', headers: null, description: null });
    expect((await admin.delete(`${PATH}/${created.id}`)).status).toBe(204);
    expect((await admin.get(`${PATH}/${created.id}`)).status).toBe(404);
  });

  test('answers 200 without content and without headers of its own unless told otherwise', async () => {
    const made = await create({});
    expect(made).toMatchObject({ status_code: 200, body: '', headers: null, description: null, metadata: null });
  });

  test('keeps an empty set of headers as it is', async () => {
    expect((await create({ headers: {} })).headers).toEqual({});
  });

  test.each([200, 204, 301, 404, 500, 599])('may answer %i', async (status_code) => {
    expect((await create({ status_code })).status_code).toBe(status_code);
  });

  test.each([0, 100, 101, 199, 600, 999, -200, 200.5, '200'])('may not answer %s', async (status_code) => {
    expect(await refused({ status_code })).toHaveProperty(['/status_code']);
  });

  test.each([204, 205, 304])('has no content with %i', async (status_code) => {
    expect((await refused({ status_code, body: 'x' }))['/body']).toMatch(/must be empty/);
    const { id } = await create({ body: 'x' });
    const { error } = await admin.patch(`${PATH}/${id}`, { status_code });
    expect(error.details['/body']).toMatch(/must be empty/);
    expect((await admin.patch(`${PATH}/${id}`, { status_code, body: '' })).status).toBe(200);
  });

  test.each([
    ['bad name', 'v', /not a header name/],
    ['', 'v', /not a header name/],
    [':status', '200', /not a header name/],
    ['naïve', 'v', /not a header name/],
    ['x\r\nset-cookie', 'v', /not a header name/],
    ['x', 'a\r\nset-cookie: b', /printable ASCII/],
    ['x', 'a\nb', /printable ASCII/],
    ['x', 'a\u0000b', /printable ASCII/],
    ['x', ' padded', /printable ASCII/],
    ['x', 'smörgås', /printable ASCII/],
    ['Content-Length', '5', /reserved for the connection/],
    ['transfer-encoding', 'chunked', /reserved for the connection/],
    ['Connection', 'close', /reserved for the connection/],
    ['Keep-Alive', '5', /reserved for the connection/],
    ['TE', 'trailers', /reserved for the connection/],
    ['Trailer', 'x', /reserved for the connection/],
    ['Upgrade', 'h2c', /reserved for the connection/],
    ['Proxy-Authenticate', 'Basic', /reserved for the connection/],
  ])('may not answer the header %j: %j', async (name, value, reason) => {
    expect((await refused({ headers: { good: 'x', [name]: value } }))[`/headers/${name}`]).toMatch(reason);
  });

  test('has no header twice, however it is written', async () => {
    expect((await refused({ headers: { 'X-A': '1', 'x-a': '2' } }))['/headers/x-a']).toMatch(/same header as "X-A"/);
  });

  test.each(['__PROTO__', '__Proto__'])('has no header %s, which readers of JSON drop', async (name) => {
    const details = await refused({ headers: { [name]: 'x', a: 'b' } });
    expect(details[`/headers/${name}`]).toMatch(/JSON parsers drop/);
  });

  test('may have headers that are named like members of every object', async () => {
    const headers = { constructor: 'a', tostring: 'b', hasownproperty: 'c', prototype: 'd' };
    expect((await create({ headers: { ...headers, tostring: undefined, toString: 'b' } })).headers).toEqual(headers);
  });

  test('has headers of text only', async () => {
    expect(await refused({ headers: { 'x-a': 1 } })).toHaveProperty(['/headers/x-a']);
    expect(await refused({ headers: ['x-a'] })).toHaveProperty(['/headers']);
  });

  test('has its limits', async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'v']));
    expect((await create({ headers: many(MAX_HEADERS) })).headers).toEqual(many(MAX_HEADERS));
    expect((await refused({ headers: many(MAX_HEADERS + 1) }))['/headers']).toMatch(/at most 64/);
    const value = 'v'.repeat(MAX_HEADER_BYTES - 1);
    expect((await create({ headers: { x: value } })).headers).toEqual({ x: value });
    expect((await refused({ headers: { xx: value } }))['/headers']).toMatch(/8192 bytes/);
    const body = 'é'.repeat(MAX_RESPONSE_BODY / 2);
    expect((await create({ body })).body).toBe(body);
    expect((await refused({ body: `${body}x` }))['/body']).toMatch(/65536 bytes/);
    expect(await refused({ description: 'é'.repeat(128) })).toHaveProperty(['/description']);
    expect(await refused({ metadata: 'x'.repeat(4097) })).toHaveProperty(['/metadata']);
  });
});

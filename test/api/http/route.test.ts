/** What a route makes of a request before its operation sees it, and of what that returns. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Operation } from '../../../src/api/http/operation.ts';
import { SET_BY_SERVICE } from '../../../src/resources/definition/read-only.ts';
import { startRoute } from './one-route.ts';

describe('a request', () => {
  test('is authenticated before there has to be room for its response, and again before it is handled', async () => {
    const { ask, steps, routes } = await startRoute({});
    const { statusCode, headers } = await ask();
    expect([statusCode, headers['service-version']]).toEqual([200, '2']);
    expect(steps).toEqual(['authenticate', 'check', 'check', 'handle']);
    expect(routes).toMatchObject([{ documentedPath: '/things/{id}', names: new Set() }, {}]);
  });

  test.each([
    ['2', 200],
    ['3', 400],
  ])('may name version 2, and no other, after it has counted: %s', async (version, status) => {
    const { ask, steps } = await startRoute({});
    const reply = await ask({ 'service-version': version });
    expect(reply.statusCode).toBe(status);
    if (status === 400) expect(reply.json().details).toMatchObject({ 'Service-Version': expect.any(String) });
    expect(steps[0]).toBe('authenticate');
  });

  test.each<[Operation['access'], Record<string, string>, number]>([
    ['anyone', {}, 200],
    ['anyone', { authorization: 'Bearer admin' }, 200],
    ['admin', {}, 403],
    ['admin', { authorization: 'Bearer admin' }, 200],
  ])('to what is for %s, of %j, has %i', async (access, headers, status) => {
    const { ask } = await startRoute({ access });
    expect((await ask(headers)).statusCode).toBe(status);
  });

  test('whose path has a value that does not fit leads nowhere, and says why', async () => {
    const { app } = await startRoute({});
    const { statusCode, body } = await app.inject({ url: '/things/long', headers: { authorization: 'Bearer owner' } });
    expect(statusCode).toBe(404);
    expect(JSON.parse(body)).toMatchObject({
      msg: 'This path does not exist: its "id" is too long.',
      details: { id: 'is too long' },
    });
  });
});

describe('an operation sees', () => {
  const CONDITIONS = { 'if-match': ['"1"', '"2"'], 'if-none-match': '"3"', 'idempotency-key': 'k' };
  const body = z.strictObject({ name: z.string().default('none') });
  const none = { ifMatch: undefined, ifNoneMatch: undefined, idempotencyKey: undefined, idempotencyPlace: undefined };
  const all = { caller: { id: 'owner' }, params: { id: 'a' }, query: {}, base: 'https://base.test', path: '/things/a' };

  test.each<[string, Partial<Operation>, object | undefined, object]>([
    ['of a read', {}, undefined, { ...none, method: 'GET', body: {}, sentBack: [], sent: undefined }],
    ['of a read with a tag', { tagged: true }, undefined, { ...none, ifNoneMatch: ['"3"'] }],
    [
      'of a change',
      { method: 'PATCH', body },
      {},
      { ...none, method: 'PATCH', body: { name: 'none' }, sentBack: [], sent: {} },
    ],
    [
      'of a change with a condition',
      { method: 'DELETE', errors: ['PRECONDITION_FAILED'] },
      undefined,
      {
        ...none,
        ifMatch: ['"1"', '"2"'],
      },
    ],
    ['of a create', { method: 'POST', creates: true }, {}, { ...none, idempotencyKey: 'k' }],
    [
      'what was read and sent back',
      { method: 'PATCH', body, readOnly: { members: { id: SET_BY_SERVICE }, inside: {} } },
      { id: 'a1' },
      { body: { name: 'none' }, sentBack: [{ path: ['id'], value: 'a1' }], sent: { id: 'a1' } },
    ],
  ])('%s', async (_, members, payload, expected) => {
    const { ask, calls } = await startRoute({ path: '/things/{key}', params: {}, ...members });
    const { statusCode, body: text } = await ask(CONDITIONS, payload);
    expect(statusCode, text).toBe(200);
    expect(calls).toMatchObject([{ ...all, params: { key: 'a' }, ...expected }]);
  });

  test('a way to count what it will read', async () => {
    const { ask, steps } = await startRoute({
      async handle({ reserve }) {
        reserve(7);
        return {};
      },
    });
    await ask();
    expect(steps.at(-1)).toBe('add 7');
  });
});

test.each([
  ['nothing', {}, 200, {}, ''],
  ['a body', { body: { a: 1 } }, 200, { 'content-type': 'application/json; charset=utf-8' }, '{"a":1}'],
  ['JSON', { json: '{ "a": 1 }' }, 200, { 'content-type': 'application/json; charset=utf-8' }, '{ "a": 1 }'],
  ['more', { status: 201, revision: 3, headers: { 'x-a': 'b' } }, 201, { etag: '"3"', 'x-a': 'b' }, ''],
])('%s that an operation returns is what is answered', async (_, result, status, headers, text) => {
  const { ask } = await startRoute({ handle: async () => result });
  const reply = await ask();
  expect([reply.statusCode, reply.body]).toEqual([status, text]);
  expect(reply.headers).toMatchObject(headers);
});

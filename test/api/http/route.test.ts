/** What a route does with a request before it calls the operation, and then with the result. */
import Fastify from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { NO_COURIER } from '../../../src/api/events/wire/courier.ts';
import { SHARED } from '../../../src/api/guard/bytes-in-flight.ts';
import { createPoolShares } from '../../../src/api/guard/pool-shares.ts';
import { answerError } from '../../../src/api/http/error-handler.ts';
import type { Call, Operation } from '../../../src/api/http/operation.ts';
import { DEFAULT_PLATFORM } from '../../../src/api/http/platform.ts';
import { addRoutes } from '../../../src/api/http/route.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { tokenHash } from '../../../src/api/secrets/tokens.ts';
import { type Database, openDatabase } from '../../../src/api/store/database.ts';
import { SET_BY_SERVICE } from '../../../src/resources/definition/read-only.ts';

/** Nothing connects to it. */
const url = 'postgres://nobody@127.0.0.1:1/none';
const nothing = openDatabase({ url, poolSize: 1, statementTimeoutMs: 1_000, connectTimeoutMs: 1_000 });
/** Finds every key; that of an admin is `admin`. */
const db: Database = {
  ...nothing,
  query: async ({ values }) => [
    {
      id: 'key',
      owner_id: 'owner',
      account_id: 'acc_1',
      admin: values?.[0] === tokenHash('admin'),
      active: true,
      is_viewer: false,
      scopes: null,
      expires_at: null,
      expired: null,
      use_due: false,
      installation: 'one',
      requests_per_second: null,
      account_goes: false,
    },
  ],
};

const THING: Operation = {
  method: 'GET',
  path: '/things/{id}',
  operationId: 'getThing',
  summary: 'Get a thing',
  tag: 'Things',
  access: 'anyone',
  family: null,
  params: { id: { schema: z.string().max(3, 'is too long'), description: 'of a thing' } },
  success: { status: 200, description: 'the thing' },
  handle: async () => ({ body: {} }),
};

/** An API without a database or reachable limits. It handles one request of a key, and of an owner, at a time. */
async function startRoute(members: Partial<Operation>) {
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('charge', null);
  app.decorateRequest('reasons', null);
  app.decorateRequest('documentedPath', 'unmatched');
  app.decorate('noteRefusal', () => undefined);
  app.decorate('logRefusal', () => undefined);
  app.setErrorHandler(answerError);
  const routes: unknown[] = [];
  app.addHook('onRoute', ({ config }) => void routes.push(config));
  const steps: string[] = [];
  const calls: Call[] = [];
  const charge = {
    ...SHARED,
    check: () => void steps.push('check'),
    add: (bytes: number) => void steps.push(`add ${bytes}`),
  };
  const operation: Operation = {
    ...THING,
    ...members,
    async handle(call, api) {
      steps.push('handle');
      calls.push(call);
      return (members.handle ?? THING.handle)(call, api);
    },
  };
  addRoutes(app, [operation], {
    api: { db, platform: DEFAULT_PLATFORM, secrets: createSecrets(undefined), eventBase: '', courier: NO_COURIER },
    shares: createPoolShares({ poolSize: 2 }),
    rateLimiter: {
      async authenticate(_request, _reply, { lookUp }) {
        steps.push('authenticate');
        return lookUp();
      },
      countStranger: async () => undefined,
    },
    lastUse: { note: () => undefined },
    bytes: { ofCaller: () => charge, ofAddress: () => charge, total: () => 0 },
    baseOf: () => 'https://base.test',
  });
  const ask = (sent: Record<string, string | string[]> = {}, payload: object | undefined = undefined) => {
    const headers = { authorization: 'Bearer owner', ...sent };
    return app.inject({ method: operation.method, url: '/things/a?', headers, ...(payload && { payload }) });
  };
  return { app, ask, steps, calls, routes };
}

describe('a request', () => {
  test('is authenticated before the check for room, which is repeated before it is handled', async () => {
    const { ask, steps, routes } = await startRoute({});
    const { statusCode, headers } = await ask();
    expect([statusCode, headers['service-version']]).toEqual([200, '2']);
    expect(steps).toEqual(['authenticate', 'check', 'check', 'handle']);
    expect(routes).toMatchObject([{ documentedPath: '/things/{id}', names: new Set() }, {}]);
  });

  test.each([
    ['2', 200],
    ['3', 400],
  ])('counts against the limits, and then must be for version 2: %s', async (version, status) => {
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
  ])('to an operation for %s, with the headers %j, has the status %i', async (access, headers, status) => {
    const { ask } = await startRoute({ access });
    expect((await ask(headers)).statusCode).toBe(status);
  });

  test('with an invalid value in its path is 404, and the error says why', async () => {
    const { app } = await startRoute({});
    const { statusCode, body } = await app.inject({ url: '/things/long', headers: { authorization: 'Bearer owner' } });
    expect(statusCode).toBe(404);
    expect(JSON.parse(body)).toMatchObject({
      msg: 'This path does not exist: its "id" is too long.',
      details: { id: 'is too long' },
    });
  });
});

describe('an operation receives', () => {
  const CONDITIONS = { 'if-match': ['"1"', '"2"'], 'if-none-match': '"3"', 'idempotency-key': 'k' };
  const body = z.strictObject({ name: z.string().default('none') });
  const none = { ifMatch: undefined, ifNoneMatch: undefined, idempotencyKey: undefined, idempotencyPlace: undefined };
  const all = { caller: { id: 'owner' }, params: { id: 'a' }, query: {}, base: 'https://base.test', path: '/things/a' };

  test.each<[string, Partial<Operation>, object | undefined, object]>([
    ['no conditions of a read', {}, undefined, { ...none, method: 'GET', body: {}, sentBack: [], sent: undefined }],
    ['If-None-Match of a read with a tag', { tagged: true }, undefined, { ...none, ifNoneMatch: ['"3"'] }],
    [
      'the body of a change',
      { method: 'PATCH', body },
      {},
      { ...none, method: 'PATCH', body: { name: 'none' }, sentBack: [], sent: {} },
    ],
    [
      'If-Match of a change with a condition',
      { method: 'DELETE', errors: ['PRECONDITION_FAILED'] },
      undefined,
      {
        ...none,
        ifMatch: ['"1"', '"2"'],
      },
    ],
    ['the idempotency key of a create', { method: 'POST', creates: true }, {}, { ...none, idempotencyKey: 'k' }],
    [
      'read-only members apart from the body',
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

  test('a function that reserves bytes for what it will read', async () => {
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
  ['no members', {}, 200, {}, ''],
  ['a body', { body: { a: 1 } }, 200, { 'content-type': 'application/json; charset=utf-8' }, '{"a":1}'],
  ['JSON', { json: '{ "a": 1 }' }, 200, { 'content-type': 'application/json; charset=utf-8' }, '{ "a": 1 }'],
  ['a status and more', { status: 201, revision: 3, headers: { 'x-a': 'b' } }, 201, { etag: '"3"', 'x-a': 'b' }, ''],
])('a result with %s becomes the response', async (_, result, status, headers, text) => {
  const { ask } = await startRoute({ handle: async () => result });
  const reply = await ask();
  expect([reply.statusCode, reply.body]).toEqual([status, text]);
  expect(reply.headers).toMatchObject(headers);
});

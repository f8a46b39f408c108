import Fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { CALLER } from '../../../dev/fixtures/caller.ts';
import { addAccessLog } from '../../../src/api/http/access-log.ts';

const DEBUG = 20;
const INFO = 30;

const names = new Set(['name', 'rules', 'cidr', 'labels', 'limit', 'id']);

const line = z.object({ level: z.number(), msg: z.string() }).loose();

/** The access log of a request with this handler. */
async function logged(handle: (request: FastifyRequest, reply: FastifyReply) => unknown, config = {}) {
  const lines: string[] = [];
  const write = (text: string) => void lines.push(text);
  const loggerInstance: FastifyBaseLogger = pino({ level: 'trace', base: null, timestamp: false }, { write });
  const app = Fastify({ loggerInstance });
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('caller', null);
  addAccessLog(app, () => undefined);
  app.get('/secret', { config }, async (request, reply) => {
    request.documentedPath = '/{documented}';
    // Pretends that the request took this long.
    Object.defineProperty(reply, 'elapsedTime', { value: 12.34 });
    return (await handle(request, reply)) ?? 'x';
  });
  await app.inject('/secret?secret');
  const requests = lines.map((text) => line.parse(JSON.parse(text)));
  return requests.filter(({ msg }) => msg === 'request');
}

/** The logged reasons of a refusal, by their logged names. */
async function reasonsOf(details: Record<string, string>, fixed: Record<string, string>, config: object = { names }) {
  const [only] = await logged((request, reply) => {
    request.reasons = { details, fixed };
    void reply.code(400);
  }, config);
  return only?.reasons;
}

describe('the line of a request', () => {
  test('has the method, route, status and duration, and nothing that the request holds', async () => {
    expect(await logged(() => 'x')).toEqual([
      { level: INFO, reqId: 'req-1', method: 'GET', route: '/{documented}', ms: 12.3, status: 200, msg: 'request' },
    ]);
  });

  const EDGE = 'edghts_01k9zq3v5hf8svx2r4c6y7n0wd';
  const ROUTE = 'edghtsrt_01k9zq3v5hf8svx2r4c6y7n0wd';
  test.each([
    [{ id: EDGE }, { resource_id: EDGE }],
    [{ resource_id: EDGE }, { resource_id: EDGE }],
    [{ edge_id: EDGE, id: ROUTE }, { resource_id: ROUTE }],
    [{ subscription_id: EDGE, type: 'ip_policy_created.v0' }, { resource_id: EDGE }],
    [{ id: 'tnl_ak_a_secret_in_the_wrong_place' }, {}],
    [{}, {}],
  ])('has the caller, the account, and the last id of the path: %o', async (params, expected) => {
    const [only] = await logged((request) => {
      request.caller = CALLER;
      request.params = params;
    });
    expect(only).toMatchObject({ principal: CALLER.id, account_id: CALLER.account, ...expected });
    expect('resource_id' in Object(only)).toBe('resource_id' in expected);
  });

  test.each([
    ['a probe', '/readyz', 200],
    ['a request over the limit', '/{documented}', 429],
  ])('is at debug level for %s', async (_, path, status) => {
    const lines = await logged((request, reply) => {
      request.documentedPath = path;
      void reply.code(status);
    });
    expect(lines).toEqual([expect.objectContaining({ level: DEBUG, route: path, status })]);
  });
});

describe('the reasons of a refusal are logged', () => {
  test.each([
    ['/name', '/name'],
    ['/rules/0/cidr', '/rules/0/cidr'],
    ['/id', '/id'],
    ['?limit', '?limit'],
    ['body', 'body'],
    ['Idempotency-Key', 'Idempotency-Key'],
    ['/secret', '/…'],
    ['/name/secret', '/name/…'],
    ['/rules/0/secret', '/rules/…'],
    ['/labels/4711', '/labels/…'],
    ['/rules/secret', '/rules/…'],
    ['/rules/12345', '/rules/…'],
    ['/labels/secret', '/labels/…'],
    ['?secret', '?…'],
    ['?imit', '?…'],
  ])('only under names that the API defines: %s as %s', async (name, shown) => {
    expect(await reasonsOf({ [name]: 'holds secret' }, { [name]: 'is bad' })).toEqual({ [shown]: 'is bad' });
  });

  test('once for each name, and only with their fixed text', async () => {
    const details = { '/s1': 'holds secret', '/s2': 'holds secret', '/name': 'holds secret' };
    expect(await reasonsOf(details, { '/s1': 'a', '/s2': 'b' })).toEqual({ '/…': 'a', '/name': 'is not valid' });
  });

  test('up to a limit of ten', async () => {
    const names = Array.from({ length: 11 }, (_, n) => `/rules/${n}/cidr`);
    const details = Object.fromEntries(names.map((name) => [name, 'is bad']));
    expect(Object.keys(Object(await reasonsOf(details, details)))).toEqual(names.slice(0, 10));
  });
});

/** An API with one operation; without a database, and without a limit that anybody could reach. */
import Fastify, { type FastifyBaseLogger, type FastifyReply } from 'fastify';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { SHARED } from '../../../src/api/guard/bytes-in-flight.ts';
import { createPoolShares } from '../../../src/api/guard/pool-shares.ts';
import { answerError } from '../../../src/api/http/error-handler.ts';
import type { Call, Operation } from '../../../src/api/http/operation.ts';
import { DEFAULT_PLATFORM } from '../../../src/api/http/platform.ts';
import { addRoutes } from '../../../src/api/http/route.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { tokenHash } from '../../../src/api/secrets/tokens.ts';
import { type Database, openDatabase } from '../../../src/api/store/database.ts';

/** Nothing connects to it. */
const url = 'postgres://nobody@127.0.0.1:1/none';
const nothing = openDatabase({ url, poolSize: 1, statementTimeoutMs: 1_000, connectTimeoutMs: 1_000 });
/** It knows every key; that of an admin is `admin`. */
const db: Database = {
  ...nothing,
  query: async ({ values }) => [
    { id: 'key', owner_id: 'owner', admin: values?.[0] === tokenHash('admin'), active: true, expired: null },
  ],
};

const THING: Operation = {
  method: 'GET',
  path: '/things/{id}',
  operationId: 'getThing',
  summary: 'Get a thing',
  tag: 'Things',
  access: 'anyone',
  params: { id: { schema: z.string().max(3, 'is too long'), description: 'of a thing' } },
  success: { status: 200, description: 'the thing' },
  handle: async () => ({ body: {} }),
};

/** An API with that operation. One request of a key, and of an owner, is handled at a time. */
export async function startRoute(members: Partial<Operation>) {
  const lines: string[] = [];
  const loggerInstance: FastifyBaseLogger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const app = Fastify({ loggerInstance });
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('charge', null);
  app.decorateRequest('reasons', null);
  app.decorateRequest('documentedPath', 'unmatched');
  app.decorate('noteRefusal', () => undefined);
  app.decorate('logRefusal', () => undefined);
  app.setErrorHandler(answerError);
  const routes: unknown[] = [];
  app.addHook('onRoute', ({ config }) => void routes.push(config));
  const replies: FastifyReply[] = [];
  app.addHook('onRequest', async (_, reply) => void replies.push(reply));
  const steps: string[] = [];
  const calls: Call[] = [];
  const shares = createPoolShares({ poolSize: 2 });
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
    api: { db, platform: DEFAULT_PLATFORM, secrets: createSecrets(undefined), eventBase: '' },
    shares,
    rateLimiter: {
      async authenticate(_request, _reply, { lookUp }) {
        steps.push('authenticate');
        return lookUp();
      },
      countStranger: async () => undefined,
    },
    bytes: { ofCaller: () => charge, ofAddress: () => charge, total: () => 0 },
    baseOf: () => 'https://base.test',
  });
  const ask = (sent: Record<string, string | string[]> = {}, payload: object | undefined = undefined) => {
    const headers = { authorization: 'Bearer owner', ...sent };
    return app.inject({ method: operation.method, url: '/things/a?', headers, ...(payload && { payload }) });
  };
  return { app, ask, steps, calls, shares, replies, routes, lines };
}

/** Until all that can go on without the test has done so. */
export const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
};

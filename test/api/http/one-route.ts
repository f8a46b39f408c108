/** An API with one operation; without a database, and without a limit that anybody could reach. */
import Fastify, { type FastifyBaseLogger, type FastifyReply } from 'fastify';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { SHARED } from '../../../src/api/http/bytes-in-flight.ts';
import { answerError } from '../../../src/api/http/error-handler.ts';
import type { Call, Operation } from '../../../src/api/http/operation.ts';
import { DEFAULT_PLATFORM } from '../../../src/api/http/platform.ts';
import { createPoolShares } from '../../../src/api/http/pool-shares.ts';
import { addRoutes } from '../../../src/api/http/route.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { openDatabase } from '../../../src/api/store/database.ts';

/** Nothing connects to it. */
const url = 'postgres://nobody@127.0.0.1:1/none';
const db = openDatabase({ url, poolSize: 1, statementTimeoutMs: 1_000, connectTimeoutMs: 1_000 });

const CALLER = { id: 'owner', admin: false, keyId: 'key', secret: 'secret' };

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

/** An API with that operation. One request of a key, and of an owner, has its turn at a time. */
export async function startRoute(members: Partial<Operation>) {
  const lines: string[] = [];
  const loggerInstance: FastifyBaseLogger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const app = Fastify({ loggerInstance });
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('charge', null);
  app.decorateRequest('reasons', null);
  app.decorateRequest('documentedPath', 'unmatched');
  app.decorateReply('isOver', false);
  app.decorate('noteRefusal', () => undefined);
  app.decorate('logRefusal', () => undefined);
  app.setErrorHandler(answerError);
  const routes: unknown[] = [];
  app.addHook('onRoute', ({ config }) => void routes.push(config));
  const replies: FastifyReply[] = [];
  app.addHook('onRequest', async (_, reply) => void replies.push(reply));
  const paths: string[] = [];
  app.addHook('onResponse', async ({ documentedPath }) => void paths.push(documentedPath));
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
      async authenticate({ headers }) {
        steps.push('authenticate');
        const { admin, id = CALLER.id } = headers;
        return { ...CALLER, id: String(id), keyId: `key of ${String(id)}`, admin: admin !== undefined };
      },
      count: async () => void steps.push('count'),
      countStranger: async () => undefined,
      countUnrouted: async () => undefined,
    },
    bytes: { ofCaller: () => charge, ofAddress: () => charge, total: () => 0 },
    baseOf: () => 'https://base.test',
  });
  const ask = (headers: Record<string, string | string[]> = {}, payload: object | undefined = undefined) =>
    app.inject({ method: operation.method, url: '/things/a?', headers, ...(payload && { payload }) });
  return { app, ask, steps, calls, shares, replies, paths, routes, lines };
}

/** Until all that can go on without the test has done so. */
export const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
};

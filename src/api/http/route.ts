/** Turns an operation into a Fastify route: the only way in which requests are authenticated, parsed and answered. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { NOTHING_READ_ONLY } from '../../resources/definition/read-only.ts';
import { invalidByRule, notFound } from '../errors/errors.ts';
import { pathOf } from './allowed-methods.ts';
import { type Caller, credentialsOf, requireAdmin } from './authentication.ts';
import { sizeOf } from './body-size.ts';
import type { BytesInFlight } from './bytes-in-flight.ts';
import { etagOf, parseTags } from './entity-tags.ts';
import { parseIdempotency } from './idempotency-headers.ts';
import {
  type Api,
  type Call,
  conditionOf,
  type Operation,
  type OperationResult,
  type PathParameter,
} from './operation.ts';
import type { PoolShares } from './pool-shares.ts';
import type { RateLimiter } from './rate-limit.ts';
import { RequestAborted } from './request-aborted.ts';
import { SERVICE_VERSION, SERVICE_VERSION_HEADER } from './service-version.ts';
import { IN_OUR_WORDS, parse, parseBody } from './validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on routes of the management API, once the request is authenticated. */
    caller: Caller | null;
    /** For logs and metrics, which must not have a series per id; `unmatched` outside of what is documented. */
    documentedPath: string;
  }
  interface FastifyContextConfig {
    documentedPath?: string;
  }
}

export interface RouteOptions {
  api: Api;
  shares: PoolShares;
  rateLimiter: RateLimiter;
  bytes: BytesInFlight;
  /** What `uri` members of an answer to this request start with. */
  baseOf: (request: Pick<FastifyRequest, 'headers'>) => string;
}

/** Adds a route for each operation. */
export function addRoutes(app: FastifyInstance, operations: readonly Operation[], options: RouteOptions): void {
  app.decorateRequest('caller', null);
  for (const operation of operations) addRoute(app, operation, options);
}

/** The router gives every parameter as text. */
interface PathParams {
  Params: Record<string, string>;
}

const NO_QUERY = z.strictObject({});
const NO_BODY = z.strictObject({});
const NO_IDEMPOTENCY = { idempotencyKey: undefined, idempotencyPlace: undefined };

function addRoute(
  app: FastifyInstance,
  operation: Operation,
  { api, shares, rateLimiter, bytes, baseOf }: RouteOptions,
): void {
  const { success } = operation;
  const { query = NO_QUERY, readOnly = NOTHING_READ_ONLY, creates = false } = operation;
  const schema = operation.body ?? NO_BODY;
  const body = { schema, readOnly, size: sizeOf(schema, readOnly), creates };
  const takesBody = operation.method !== 'GET';
  const condition = conditionOf(operation);
  const parameters = Object.entries<PathParameter>(operation.params);

  /** Before the body is read, so that strangers cannot make the service parse. */
  async function admit(request: FastifyRequest<PathParams>, reply: FastifyReply): Promise<void> {
    request.documentedPath = operation.path;
    reply.header(SERVICE_VERSION_HEADER, SERVICE_VERSION);
    const credentials = credentialsOf(header(request, 'authorization'));
    request.caller = await rateLimiter.authenticate(request, reply, credentials);
    await rateLimiter.count(request, reply);
    // Only what has counted for somebody may be refused as often as it is sent.
    checkVersion(header(request, SERVICE_VERSION_HEADER));
    request.charge = bytes.ofCaller(request.caller);
    request.charge.check();
    if (operation.access === 'admin') requireAdmin(request.caller);
  }

  function read(request: FastifyRequest<PathParams>, outOfTurn: Call['outOfTurn']): Call {
    if (request.caller === null) throw new Error('a route without authentication');
    const { params } = request;
    checkParams(parameters, params);
    return {
      caller: request.caller,
      params,
      query: parse(query, request.query, 'query'),
      ...(takesBody ? parseBody(body, request.body, params) : { body: {}, sentBack: [] }),
      sent: request.body,
      ifMatch: condition === 'If-Match' ? parseTags(condition, header(request, 'if-match')) : undefined,
      ifNoneMatch: condition === 'If-None-Match' ? parseTags(condition, header(request, 'if-none-match')) : undefined,
      ...(operation.creates ? parseIdempotency((name) => header(request, name)) : NO_IDEMPOTENCY),
      base: baseOf(request),
      reserve: (size) => request.charge?.add(size),
      outOfTurn,
      method: operation.method,
      path: pathOf(request),
    };
  }

  /** Few at once for one key and owner, also since large answers are in memory before they count as in flight. */
  async function inTurn(request: FastifyRequest<PathParams>, reply: FastifyReply): Promise<unknown> {
    const { keyId = '', id = '' } = request.caller ?? {};
    let ends = await takeTurns(shares, keyId, id);
    const endTurns = () => {
      for (const end of ends.splice(0)) end();
    };
    const mustBeAwaited = () => {
      if (reply.sent || reply.isOver) throw new RequestAborted();
    };
    const outOfTurn: Call['outOfTurn'] = async (work) => {
      endTurns();
      const done = await work(mustBeAwaited);
      ends = await takeTurns(shares, keyId, id);
      mustBeAwaited();
      return done;
    };
    try {
      mustBeAwaited();
      // While it waited, others may have used up the room that there was.
      request.charge?.check();
      const result = await operation.handle(read(request, outOfTurn), api);
      return reply.sent ? undefined : send(reply, success.status, result);
    } catch (error) {
      // It took too long, and has been answered already.
      if (reply.sent && error instanceof RequestAborted) return undefined;
      throw error;
    } finally {
      endTurns();
    }
  }

  // Without a response schema, on purpose: for our views fast-json-stringify takes twice the time of JSON.stringify.
  app.route<PathParams>({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: {
      documentedPath: operation.path,
      known: { body: body.size, query: sizeOf(query, NOTHING_READ_ONLY), readOnly },
    },
    onRequest: admit,
    handler: inTurn,
  });
}

async function takeTurns({ keys, owners }: PoolShares, keyId: string, ownerId: string): Promise<(() => void)[]> {
  const endOfKey = await keys.take(keyId);
  try {
    return [await owners.take(ownerId), endOfKey];
  } catch (error) {
    endOfKey();
    throw error;
  }
}

function send(reply: FastifyReply, defaultStatus: number, answer: OperationResult): FastifyReply {
  reply.code(answer.status ?? defaultStatus);
  if (answer.revision !== undefined) reply.header('etag', etagOf(answer.revision));
  if (answer.headers) reply.headers(answer.headers);
  return answer.json === undefined ? reply.send(answer.body) : reply.type(JSON_TYPE).send(answer.json);
}

const JSON_TYPE = 'application/json; charset=utf-8';

function checkVersion(version: string | undefined): void {
  if (version !== undefined && version !== SERVICE_VERSION) {
    throw invalidByRule({ 'Service-Version': `must be ${SERVICE_VERSION} (the only supported version)` });
  }
}

function checkParams(expected: readonly [string, PathParameter][], given: Record<string, string>): void {
  for (const [name, { schema }] of expected) {
    const result = schema.safeParse(given[name], IN_OUR_WORDS);
    if (result.success) continue;
    const reason = result.error.issues[0]?.message ?? 'does not fit';
    throw notFound(`This path does not exist: its "${name}" ${reason}.`, { [name]: reason });
  }
}

/** The value of a header; if it was sent twice, Node joins the values or drops one. */
function header({ headers }: Pick<FastifyRequest, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

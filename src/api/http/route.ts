/** Turns an operation into a Fastify route: the only way in which requests are authenticated, parsed and handled. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ACCOUNT_HEADER } from '../../resources/account.ts';
import { INSTALLATION_HEADER } from '../../resources/definition/installation.ts';
import { NOTHING_READ_ONLY } from '../../resources/definition/read-only.ts';
import { notFound, RequestAborted } from '../errors/errors.ts';
import type { BytesInFlight } from '../guard/bytes-in-flight.ts';
import type { PoolShares } from '../guard/pool-shares.ts';
import type { RateLimiter } from '../guard/rate-limit.ts';
import { type SharedLookups, shareLookups } from '../guard/shared-lookups.ts';
import { type Caller, credentialsOf } from './authentication.ts';
import { authorize } from './authorization.ts';
import { inAccount } from './chosen-account.ts';
import { etagOf, parseTags } from './entity-tags.ts';
import type { LastUse } from './last-use.ts';
import {
  type Api,
  type Call,
  conditionOf,
  type Operation,
  type OperationResult,
  type PathParameter,
} from './operation.ts';
import { explainQuota } from './quotas.ts';
import {
  checkHeaders,
  checkSingle,
  header,
  parseIdempotency,
  parseManager,
  SERVICE_VERSION,
  SERVICE_VERSION_HEADER,
} from './request-headers.ts';
import { pathOf } from './unknown-routes.ts';
import { ISSUE_MESSAGES, memberNames, parse, parseBody } from './validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on routes of the management API, once the request is authenticated. */
    caller: Caller | null;
  }
}

export interface RouteOptions {
  api: Api;
  shares: PoolShares;
  rateLimiter: RateLimiter;
  lastUse: LastUse;
  bytes: BytesInFlight;
  /** Prefix of `uri` members in the response to this request. */
  baseOf: (request: Pick<FastifyRequest, 'headers'>) => string;
}

/** Adds a route for each operation. */
export function addRoutes(app: FastifyInstance, operations: readonly Operation[], options: RouteOptions): void {
  app.decorateRequest('caller', null);
  const lookups = shareLookups<Caller>();
  for (const operation of operations) addRoute(app, operation, lookups, options);
}

interface PathParams {
  Params: Record<string, string>;
}

const NO_QUERY = z.strictObject({});
const NO_BODY = z.strictObject({});
const NO_IDEMPOTENCY = { idempotencyKey: undefined, idempotencyPlace: undefined };

function addRoute(
  app: FastifyInstance,
  operation: Operation,
  lookups: SharedLookups<Caller>,
  { api, shares, rateLimiter, lastUse, bytes, baseOf }: RouteOptions,
): void {
  const { success } = operation;
  const { query = NO_QUERY, readOnly = NOTHING_READ_ONLY, creates = false } = operation;
  const schema = operation.body ?? NO_BODY;
  const body = { schema, readOnly, creates };
  const takesBody = operation.method !== 'GET';
  const condition = conditionOf(operation);
  const parameters = Object.entries<PathParameter>(operation.params);

  function keyOf(request: FastifyRequest) {
    const { fingerprint, caller } = credentialsOf(header(request, 'authorization'));
    const lookUp = async () => {
      // Here, so that the request counts as one without a valid key.
      checkSingle(request, 'Authorization');
      const lookUpKey = () => caller(api.db, lastUse);
      return fingerprint === undefined ? lookUpKey() : lookups(fingerprint, lookUpKey);
    };
    return { fingerprint, lookUp };
  }

  /** Runs before the body is read, so that the service reads nothing from clients without a key. */
  async function admit(request: FastifyRequest<PathParams>, reply: FastifyReply): Promise<void> {
    reply.header(SERVICE_VERSION_HEADER, SERVICE_VERSION);
    request.caller = await rateLimiter.authenticate(request, reply, keyOf(request));
    reply.header(INSTALLATION_HEADER, request.caller.installation);
    // After the rate limits, so that a refused request counts as well.
    checkHeaders(request);
    request.charge = bytes.ofCaller(request.caller);
    request.charge.check();
    authorize(request.caller, operation, request.params);
    const account = header(request, ACCOUNT_HEADER);
    // Accounts belong to none.
    if (account !== undefined && operation.access !== 'platform')
      request.caller = await inAccount(api.db, request.caller, account);
  }

  function read(request: FastifyRequest<PathParams>, withoutPermit: Call['withoutPermit']): Call {
    if (request.caller === null) throw new Error('a route without authentication');
    const { params } = request;
    checkParams(parameters, params);
    return {
      caller: request.caller,
      requestId: request.id,
      params,
      query: parse(query, request.query, 'query'),
      ...(takesBody ? parseBody(body, request.body, params) : { body: {}, sentBack: [] }),
      sent: request.body,
      ifMatch: condition === 'If-Match' ? parseTags(condition, header(request, 'if-match')) : undefined,
      ifNoneMatch: condition === 'If-None-Match' ? parseTags(condition, header(request, 'if-none-match')) : undefined,
      ...(operation.creates ? parseIdempotency(request) : NO_IDEMPOTENCY),
      manager: operation.manages && parseManager(request, operation.manages),
      base: baseOf(request),
      reserve: (size) => request.charge?.add(size),
      withoutPermit,
      method: operation.method,
      path: pathOf(request),
    };
  }

  /**
   * Limits how many requests of a key and its owner run at once: a large response is in memory before it counts as in
   * flight.
   */
  async function handle(request: FastifyRequest<PathParams>, reply: FastifyReply): Promise<unknown> {
    const { keyId = '', id = '' } = request.caller ?? {};
    let release = await acquirePermits(shares, keyId, id);
    const throwIfAborted = () => {
      if (reply.sent || request.charge?.isOver) throw new RequestAborted();
    };
    const withoutPermit: Call['withoutPermit'] = async (work) => {
      release();
      release = () => undefined;
      const result = await work(throwIfAborted);
      release = await acquirePermits(shares, keyId, id);
      throwIfAborted();
      return result;
    };
    try {
      throwIfAborted();
      // Other requests may have used up the room while this one waited.
      request.charge?.check();
      const call = read(request, withoutPermit);
      const db = operation.access === 'platform' ? api.db : api.db.within(call.caller.account);
      const result = await operation.handle(call, { ...api, db }).catch((error: unknown) => explainQuota(db, error));
      return reply.sent ? undefined : send(reply, success.status, result);
    } catch (error) {
      // The handler timeout has sent a response already.
      if (reply.sent && error instanceof RequestAborted) return undefined;
      throw error;
    } finally {
      release();
    }
  }

  // Without a response schema: for our views fast-json-stringify takes twice the time of JSON.stringify.
  app.route<PathParams>({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: {
      documentedPath: operation.path,
      names: memberNames(schema, query, ...(success.schema ? [success.schema] : [])),
    },
    onRequest: admit,
    handler: handle,
  });
}

/** Returns the function that releases both permits. */
async function acquirePermits({ keys, owners }: PoolShares, keyId: string, ownerId: string): Promise<() => void> {
  const releaseKey = await keys.acquire(keyId);
  try {
    const releaseOwner = await owners.acquire(ownerId);
    return () => {
      releaseOwner();
      releaseKey();
    };
  } catch (error) {
    releaseKey();
    throw error;
  }
}

function send(reply: FastifyReply, defaultStatus: number, result: OperationResult): FastifyReply {
  reply.code(result.status ?? defaultStatus);
  if (result.revision !== undefined) reply.header('etag', etagOf(result.revision));
  if (result.headers) reply.headers(result.headers);
  return result.json === undefined ? reply.send(result.body) : reply.type(JSON_TYPE).send(result.json);
}

const JSON_TYPE = 'application/json; charset=utf-8';

function checkParams(expected: readonly [string, PathParameter][], given: Record<string, string>): void {
  for (const [name, { schema }] of expected) {
    const result = schema.safeParse(given[name], ISSUE_MESSAGES);
    if (result.success) continue;
    const reason = result.error.issues[0]?.message ?? 'does not fit';
    throw notFound(`This path does not exist: its "${name}" ${reason}.`, { [name]: reason });
  }
}

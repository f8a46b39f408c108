/** One log line per request, of chosen members only, since a header or a body can hold a secret. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ERROR_STATUS } from '../../resources/definition/errors.ts';
import { idPattern } from '../../resources/definition/id.ts';
import { type ApiError, type Details, pointerTo } from '../errors/errors.ts';

type Reasons = Pick<ApiError, 'details' | 'fixed'>;

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the request was refused as invalid. */
    reasons: Reasons | null;
    /** The path with placeholders, so that metrics have no series per id; `unmatched` for an unknown path. */
    documentedPath: string;
  }
  interface FastifyContextConfig {
    documentedPath?: string;
    /** Names of the members and parameters of the operation, which may be logged. */
    names?: ReadonlySet<string>;
  }
}

/** Requested every few seconds by machines; logged at debug. */
export const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** The status of a request whose client went away before the response, as nginx logs it. No client sees it. */
export const ABORTED = 499;

/** @param onAborted called for each request whose client went away before it had its response */
export function addAccessLog(app: FastifyInstance, onAborted: (request: FastifyRequest) => void): void {
  app.decorateRequest('reasons', null);
  app.decorateRequest('documentedPath', 'unmatched');
  const sent = new WeakSet<FastifyReply>();
  app.addHook('onRequest', (request, reply, done) => {
    request.documentedPath = request.routeOptions.config.documentedPath ?? 'unmatched';
    // Fastify's onResponse and onRequestAbort do not run for every aborted response.
    reply.raw.once('close', () => {
      if (sent.has(reply)) return;
      onAborted(request);
      log(request, reply, ABORTED);
    });
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    sent.add(reply);
    log(request, reply, reply.statusCode);
    done();
  });
}

function log(request: FastifyRequest, reply: FastifyReply, status: number): void {
  const { method, documentedPath: route, reasons, caller } = request;
  const isAborted = status === ABORTED;
  // Requests over the limit, and requests without a key whose client goes away, could fill the log. Refusals are
  // counted instead (refusal-log.ts).
  const isNoise = PROBES.has(route) || status === ERROR_STATUS.RATE_LIMITED || (isAborted && !caller);
  request.log[isNoise ? 'debug' : 'info'](
    {
      method,
      route,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      status,
      ...(caller && { principal: caller.id, account_id: caller.account, ...resourceOf(request.params) }),
      ...(isAborted && { aborted: true }),
      ...(reasons && { reasons: withoutValues(reasons, request.routeOptions.config.names ?? new Set()) }),
    },
    'request',
  );
}

const ANY_ID = new RegExp(`^${idPattern('[a-z]+')}$`);
const path = z.record(z.string(), z.string());

/** The innermost resource in the path. Any other text there may be a secret. */
function resourceOf(params: unknown): { resource_id?: string } {
  const id = Object.values(path.safeParse(params).data ?? {}).findLast((value) => ANY_ID.test(value));
  return id === undefined ? {} : { resource_id: id };
}

const MAX_REASONS = 10;

/** Stands for names that the client has chosen. */
const CHOSEN = '…';

/** The reasons as they may be logged: both names and values in a request may be secrets. */
function withoutValues({ details, fixed }: Reasons, names: ReadonlySet<string>): Details {
  const reasons = new Map<string, string>();
  for (const name of Object.keys(details)) {
    const safe = safeName(name, names);
    if (!reasons.has(safe)) reasons.set(safe, fixed[name] ?? 'is not valid');
    if (reasons.size === MAX_REASONS) break;
  }
  return Object.fromEntries(reasons);
}

/** The name up to the first part that is not one of ours. */
function safeName(name: string, names: ReadonlySet<string>): string {
  if (name.startsWith('?')) return names.has(name.slice(1)) ? name : `?${CHOSEN}`;
  if (!name.startsWith('/')) return name;
  const parts = name.slice(1).split('/');
  // A number before one of our names is an index; any other number may be a name that the client has chosen.
  const isIndex = (at: number) => /^\d{1,4}$/.test(parts[at] ?? '') && names.has(parts[at + 1] ?? '');
  const end = parts.findIndex((part, at) => !names.has(part) && !isIndex(at));
  return pointerTo(end === -1 ? parts : [...parts.slice(0, end), CHOSEN]);
}

/** One line per request, of chosen members only: a header or a body can hold a secret. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_STATUS } from '../../resources/definition/errors.ts';
import { type ReadOnlyMembers, readOnlyAt } from '../../resources/definition/read-only.ts';
import type { ApiError, Details } from '../errors/errors.ts';
import { ABORTED } from './body.ts';
import type { Size } from './body-size.ts';
import { pointerTo } from './json-pointer.ts';

type Reasons = Pick<ApiError, 'details' | 'fixed'>;

/** What members and parameters an operation has. */
interface KnownNames {
  body: Size;
  query: Size;
  /** Members of the body that responses show. */
  readOnly: ReadOnlyMembers;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What was wrong with it, of a request that was refused as invalid. */
    reasons: Reasons | null;
  }
  interface FastifyContextConfig {
    known?: KnownNames;
  }
}

/** Requested every few seconds by machines; logged at debug, and never refused for want of room. */
export const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Whoever sends them without end would fill the log: their number is there instead (refusal-log.ts). */
const TOO_MANY = ERROR_STATUS.RATE_LIMITED;

export function addAccessLog(app: FastifyInstance): void {
  app.decorateRequest('reasons', null);
  app.addHook('onResponse', (request, reply, done) => {
    const { documentedPath, reasons } = request;
    const level = PROBES.has(documentedPath) || reply.statusCode === TOO_MANY ? 'debug' : 'info';
    const why = reasons && { reasons: withoutValues(reasons, request.routeOptions.config.known) };
    request.log[level]({ ...about(request, reply), status: reply.statusCode, ...why }, 'request');
    done();
  });
}

/** The line of a request whose client went away before it had its answer: a stranger may do that as often as they like. */
export function logAborted(request: FastifyRequest, reply: FastifyReply): void {
  request.log[request.caller ? 'info' : 'debug'](
    { ...about(request, reply), status: ABORTED, aborted: true },
    'request',
  );
}

function about({ method, documentedPath: route }: FastifyRequest, { elapsedTime }: FastifyReply) {
  return { method, route, ms: Math.round(elapsedTime * 10) / 10 };
}

const MAX_REASONS = 10;

/** Names that the request has chosen. */
const THEIRS = '…';

/** The reasons as they may be logged: whatever was sent may be a secret, names as well as values. */
function withoutValues({ details, fixed }: Reasons, known: KnownNames | undefined): Details {
  const reasons = new Map<string, string>();
  for (const name of Object.keys(details)) {
    const own = ownName(name, known);
    if (!reasons.has(own)) reasons.set(own, fixed[name] ?? 'is not valid');
    if (reasons.size === MAX_REASONS) break;
  }
  return Object.fromEntries(reasons);
}

/** The name as far as it is one of ours. */
function ownName(name: string, known: KnownNames | undefined): string {
  if (name.startsWith('?')) return known?.query.named.has(name.slice(1)) ? name : `?${THEIRS}`;
  if (!name.startsWith('/')) return name;
  const path: PropertyKey[] = [];
  let size = known?.body;
  for (const segment of name.slice(1).split('/')) {
    const inList = size?.elements !== undefined && /^\d{1,4}$/.test(segment);
    size = size?.named.get(segment) ?? (inList ? size?.each : undefined);
    const isShown = known && readOnlyAt(known.readOnly, [...path, segment]) !== undefined;
    if (size === undefined && !isShown) return pointerTo([...path, THEIRS]);
    path.push(inList ? Number(segment) : segment);
  }
  return pointerTo(path);
}

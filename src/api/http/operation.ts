/** An operation of the API: one value has what routing, validation and the OpenAPI document need. */
import type { z } from 'zod';
import type { ErrorCode } from '../../resources/definition/errors.ts';
import type { IdempotencyPlace } from '../../resources/definition/idempotency.ts';
import type { Manager } from '../../resources/definition/manager.ts';
import type { ReadOnlyMembers } from '../../resources/definition/read-only.ts';
import type { Courier } from '../events/wire/courier.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Database } from '../store/database.ts';
import type { Caller } from './authentication.ts';
import type { Tags } from './entity-tags.ts';
import type { Platform } from './platform.ts';
import type { SentBack } from './read-only-members.ts';

export interface PathParameter {
  /** A value that does not match gives 404, with the schema's message. */
  schema: z.ZodType<string>;
  description: string;
}

/** One request, checked: authenticated, and each part parsed by its schema. */
export interface Call<P extends string = string, Query = unknown, Body = unknown> {
  caller: Caller;
  /** As in the header X-Request-Id of the response. */
  requestId: string;
  params: Readonly<Record<P, string>>;
  query: Query;
  body: Body;
  /** The body as it came, before defaults and normalisation. */
  sent: unknown;
  /** Read-only members of the body, which the operation must compare with what is stored. */
  sentBack: readonly SentBack[];
  ifMatch: Tags | undefined;
  ifNoneMatch: Tags | undefined;
  idempotencyKey: string | undefined;
  /** Only with a key. */
  idempotencyPlace: IdempotencyPlace | undefined;
  /** In whose name the request is made, if it says so. */
  manager: Manager | undefined;
  /** Prefix of `uri` members: scheme, host and perhaps a path, without a slash at the end. */
  base: string;
  /** Charges a large response before it is read from the database. @throws RATE_LIMITED, UNAVAILABLE */
  reserve: (bytes: number) => void;
  /**
   * Releases the request's permit for the database (guard/pool-shares.ts) during long work that needs no database.
   * @param work receives a check that throws RequestAborted if the client has gone
   * @throws RequestAborted if the client has gone when the work is done
   */
  withoutPermit: <T>(work: (throwIfAborted: () => void) => Promise<T>) => Promise<T>;
  /** Method and path of the request, without the query. */
  method: string;
  path: string;
}

export interface OperationResult {
  /** Default: the operation's own status. */
  status?: number;
  body?: unknown;
  /** The body, if it is JSON already. */
  json?: string;
  /** Shown as the ETag. */
  revision?: number;
  headers?: Record<string, string>;
}

/** What an operation asks of its callers (authorization.ts). */
export interface Permission {
  /** `admin`, `platform`: 403 to everyone else. An operation for platform admins sees the rows of all accounts. */
  readonly access: 'anyone' | 'admin' | 'platform';
  /** The family that it belongs to, as scopes of API keys name it; null: every key may use it. */
  readonly family: string | null;
}

interface OperationOf<P extends string, Query extends z.ZodType, Body extends z.ZodType> extends Permission {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters in braces: `/ip_policies/{id}`. */
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  /** What it asks besides, if the resource in the path may be of any family. */
  permissionFor?(params: Readonly<Record<string, string>>): Permission | undefined;
  params: Readonly<Record<P, PathParameter>>;
  query?: Query;
  body?: Body;
  /** Members that the body may have as well, if they equal what is stored. */
  readOnly?: ReadOnlyMembers;
  success: { status: 200 | 201 | 204; description: string; schema?: z.ZodType };
  /** The other response of an operation that may go on after it. */
  accepted?: { status: 202; description: string; schema: z.ZodType };
  /** Takes an Idempotency-Key, and with it an Idempotency-Scope and Idempotency-Sequence. */
  creates?: boolean;
  /** Takes a Resource-Manager, and may answer with CONFLICT. */
  manages?: 'optionally' | 'always';
  /** Responds with an ETag. */
  tagged?: boolean;
  /** In addition to those that every operation may return. */
  errors?: readonly ErrorCode[];
  handle(call: Call<P, z.output<Query>, z.output<Body>>, api: Api): Promise<OperationResult>;
}

/** An operation of any shape: what the server mounts and the OpenAPI document describes. */
export type Operation = OperationOf<string, z.ZodType, z.ZodType>;

/** Declares an operation; its handler gets the call with the types of its schemas. */
export function operation<P extends string, Query extends z.ZodType, Body extends z.ZodType>(
  declared: OperationOf<P, Query, Body>,
): Operation {
  return declared;
}

/** What handlers have access to. */
export interface Api {
  readonly db: Database;
  readonly platform: Platform;
  /** Encrypts what the database must not reveal. */
  readonly secrets: Secrets;
  /** Prefix of `uri` members in events: BASE_URL or nothing, never the Host header of a request. */
  readonly eventBase: string;
  /** Sends events. */
  readonly courier: Pick<Courier, 'deliver'>;
}

/** The header that makes an operation conditional, if it can be. */
export function conditionOf({
  method,
  tagged,
  errors,
}: Pick<Operation, 'method' | 'tagged' | 'errors'>): 'If-Match' | 'If-None-Match' | undefined {
  if (method === 'GET') return tagged ? 'If-None-Match' : undefined;
  return errors?.includes('PRECONDITION_FAILED') ? 'If-Match' : undefined;
}

/** What an operation of the API is: one value holds what routing, validation and the OpenAPI document need. */
import type { z } from 'zod';
import type { ErrorCode } from '../../resources/definition/errors.ts';
import type { IdempotencyPlace } from '../../resources/definition/idempotency.ts';
import type { ReadOnlyMembers } from '../../resources/definition/read-only.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Database } from '../store/database.ts';
import type { Caller } from './authentication.ts';
import type { Tags } from './entity-tags.ts';
import type { Platform } from './platform.ts';
import type { SentBack } from './sent-back.ts';

export interface PathParameter {
  /** A value that does not match gives 404, with the schema's message. */
  schema: z.ZodType<string>;
  description: string;
}

/** One request, checked: authenticated, and each part parsed by its schema. */
export interface Call<P extends string = string, Query = unknown, Body = unknown> {
  caller: Caller;
  params: Readonly<Record<P, string>>;
  query: Query;
  body: Body;
  /** The body as it came, before defaults and normalisation. */
  sent: unknown;
  /** Read-only members that the body had, which the operation must hold against what is stored. */
  sentBack: readonly SentBack[];
  ifMatch: Tags | undefined;
  ifNoneMatch: Tags | undefined;
  idempotencyKey: string | undefined;
  /** Only with a key. */
  idempotencyPlace: IdempotencyPlace | undefined;
  /** What `uri` members start with: scheme, host and perhaps a path, without a slash at the end. */
  base: string;
  /** Counts what a large answer will hold, before it is read. @throws RATE_LIMITED, UNAVAILABLE */
  reserve: (bytes: number) => void;
  /**
   * Does work that takes long and needs no database, while others of the same key have their turn.
   * @param work gets what throws once nobody waits for the answer any more
   * @throws RequestAborted if nobody does when it is done
   */
  outOfTurn: <T>(work: (mustBeAwaited: () => void) => Promise<T>) => Promise<T>;
  /** Method and path of the request, without the query. */
  method: string;
  path: string;
}

export interface OperationResult {
  /** Default: the operation's own status. */
  status?: number;
  body?: unknown;
  /** The body where it is JSON already. */
  json?: string;
  /** Shown as the ETag. */
  revision?: number;
  headers?: Record<string, string>;
}

interface OperationOf<P extends string, Query extends z.ZodType, Body extends z.ZodType> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters in braces: `/ip_policies/{id}`. */
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  /** `admin`: 403 to everyone else. */
  access: 'anyone' | 'admin';
  params: Readonly<Record<P, PathParameter>>;
  query?: Query;
  body?: Body;
  /** Members that the body may have besides, if they are as they were read. */
  readOnly?: ReadOnlyMembers;
  success: { status: 200 | 201 | 204; description: string; schema?: z.ZodType };
  /** Takes an Idempotency-Key, and with it an Idempotency-Scope and Idempotency-Sequence. */
  creates?: boolean;
  /** Answers with an ETag. */
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
  /** Seals what the database must not reveal. */
  readonly secrets: Secrets;
  /** What `uri` members of events start with: BASE_URL or nothing, never what a request calls this server. */
  readonly eventBase: string;
}

/** The header that makes an operation conditional: a GET that has an ETag, and what may fail because of another one. */
export function conditionOf({
  method,
  tagged,
  errors,
}: Pick<Operation, 'method' | 'tagged' | 'errors'>): 'If-Match' | 'If-None-Match' | undefined {
  if (method === 'GET') return tagged ? 'If-None-Match' : undefined;
  return errors?.includes('PRECONDITION_FAILED') ? 'If-Match' : undefined;
}

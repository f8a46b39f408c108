/** What a family may add to the generic operations. */
import type { z } from 'zod';
import type { Resource, View } from '../../resources/definition/resource.ts';
import type { ApiError } from '../errors/errors.ts';
import type { Caller } from '../http/authentication.ts';
import type { Api, Call } from '../http/operation.ts';
import type { Executor } from '../store/database.ts';
import type { Violation } from '../store/database-errors.ts';
import type { Author } from '../store/outbox.ts';
import type { Row } from '../store/repository.ts';

/** A write under way: its transaction, and who asked for it. */
export interface WriteContext extends Author {
  api: Api;
  tx: Executor;
  caller: Caller;
}

/** What a family sets on a new resource. */
export interface Draft {
  /** Fields that the request left open, or that the service sets. */
  fields?: Record<string, unknown>;
  /** Values of the `columns` below. */
  columns?: Record<string, unknown>;
  /** Shown once, in the creation response, as the field that is not stored (`token`). */
  token?: string;
}

/** Members of an event's payload besides those of the resource. */
export type EventDetails = Readonly<Record<string, unknown>>;

export interface Hooks<R extends Resource = Resource> {
  /** What the OpenAPI document says about creating, in addition to the text for every family. */
  aboutCreate?: string;
  /** What it says about deleting, instead of the sentence about resources that are still in use. */
  aboutDelete?: string;
  /** Columns besides those of the fields, which no response shows. */
  columns?: readonly string[];
  /** Which of the columns hold sealed secrets, bound to their table, row and column (sealing.ts). */
  sealed?: readonly string[];
  /** Whether resources of the family refer to others by more than their reference fields (setReferences). */
  refers?: boolean;
  /** Completes a new resource. No I/O: it may run for a request that turns out to be a replay. Throws ApiError. */
  draft?(caller: Caller, input: z.output<R['create']>): Draft;
  /**
   * Completes a new resource where that is slow or needs other resources; runs outside of any transaction. Skipped for
   * a known replay, but concurrent requests under one key may all call it. Throws ApiError.
   */
  prepare?(
    input: z.output<R['create']>,
    id: string,
    api: Api,
    call: Pick<Call, 'caller' | 'withoutPermit'>,
  ): Promise<Draft>;
  /** Derived fields that follow from the others. No I/O. Throws ApiError. `before`: undefined for a new resource. */
  derive?(after: Row, before: Row | undefined, api: Api): Record<string, unknown>;
  /** Whether the service changes the resource without a new revision. Conditional reads then always get it. */
  isVolatile?(row: Row): boolean;
  /** Takes the locks that other writes take before locking the resource, so that the two cannot deadlock. */
  lockFirst?(context: WriteContext, id: string): Promise<void>;
  /** Whether `sent` is the resource's secret, which at most the creation response shows. */
  isSecret?(context: WriteContext, id: string, sent: string): Promise<boolean>;
  beforeCreate?(context: WriteContext, created: View<R>): Promise<void>;
  /** Runs after the insert, in its transaction. */
  afterCreate?(context: WriteContext, created: View<R>): Promise<void>;
  /** Not called for a PATCH that changes nothing. */
  beforeUpdate?(context: WriteContext, before: View<R>, after: View<R>): Promise<void>;
  /** May return additional members of the event's payload. */
  beforeDelete?(context: WriteContext, deleted: View<R>): Promise<EventDetails | undefined>;
  /**
   * Begins a deletion that goes on after the response, and returns the row as it is meanwhile; undefined: the resource is to be
   * deleted at once. @param cascade whether the request asks to delete all that belongs to the resource. @throws ApiError
   */
  beginDeletion?(context: WriteContext, row: Row, cascade: boolean): Promise<Row | undefined>;
  /** The error for a schema rule that a write broke. Fields that are `unique` need none. */
  explain?(broken: Violation, written: Row): ApiError | undefined;
}

/** A mounted family: its definition, its hooks, its rows, and how they show. */
import type { Resource, View } from '../resources/resource.ts';
import type { Caller } from './auth.ts';
import { notFound } from './errors.ts';
import { checkIfMatch } from './etag.ts';
import type { Change, Hooks } from './hooks.ts';
import type { Answer, Api, Call, PathParameter } from './operation.ts';
import { type Repository, type Row, repository } from './store/repository.ts';
import { type ViewOfRow, viewer } from './view.ts';
import { words } from './words.ts';

/** The path parameter that names a resource of this family. */
export function idParameter(resource: Resource): PathParameter {
  return { schema: resource.id, description: `Id of the ${words(resource.name)}.` };
}

export interface Family<R extends Resource = Resource> {
  resource: R;
  hooks: Hooks<R>;
  rows: Repository;
  /** The fields of a new resource whose request leaves all of them out. */
  initial: Readonly<Record<string, unknown>>;
  show(row: Row, base: string): ViewOfRow;
  /** The view as the hooks see it, with the types of the definition. */
  typed(view: ViewOfRow): View<R>;
  /** Throws NOT_FOUND for a missing row, and for one that this caller may not know of. */
  require(row: Row | undefined, id: string, caller: Caller): Row;
}

/** @param hooks what is special about the family */
export function createFamily<R extends Resource>(resource: R, hooks: Hooks<R>): Family<R> {
  return {
    resource,
    hooks,
    rows: repository(resource, hooks.columns),
    initial: Object.fromEntries(Object.entries(resource.fields).map(([name, { initial }]) => [name, initial])),
    show: viewer(resource),
    // The generic schema's output is View<R> by definition; TypeScript cannot see it through the type parameter.
    typed: (view) => resource.view.parse(view) as View<R>,
    require(row, id, caller) {
      const owner = hooks.onlyOwnedBy?.(caller);
      if (row && (owner === undefined || row.owner_id === owner)) return row;
      throw notFound(`There is no ${words(resource.name)} ${id}.`, { id });
    },
  };
}

/** A request about one existing resource. */
export type SingleCall<Body = unknown> = Call<'id', unknown, Body>;

/** Runs a change of one existing resource: locked, visible to the caller, and at a revision that they accept. */
export function changeLocked<R extends Resource>(
  api: Api,
  family: Family<R>,
  call: SingleCall,
  work: (change: Change, row: Row) => Promise<Answer>,
): Promise<Answer> {
  const { id } = call.params;
  return api.db.transaction(async (tx) => {
    const change = { tx, caller: call.caller, base: call.base };
    await family.hooks.lockFirst?.(change, id);
    const row = family.require(await family.rows.lock(tx, id), id, call.caller);
    checkIfMatch(call.ifMatch, row.revision);
    return work(change, row);
  });
}

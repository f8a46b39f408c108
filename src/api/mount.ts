/** The five operations of a family, from its definition: create, list, get, update, delete. */
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { newId } from '../resources/id.ts';
import { IDEMPOTENCY_REPLAYED_HEADER } from '../resources/idempotency.ts';
import type { Resource, View } from '../resources/resource.ts';
import type { Caller } from './auth.ts';
import { notFound } from './errors.ts';
import { checkIfMatch, isUnchanged } from './etag.ts';
import type { Change, Hooks } from './hooks.ts';
import { attempt, claim, complete } from './idempotency.ts';
import type { Answer, Api, Call, PathParameter } from './operation.ts';
import { listView, MAX_LIMIT, pageOf, pageQuery } from './paging.ts';
import type { Executor } from './store/database.ts';
import { changed } from './store/events.ts';
import { type Repository, type Row, repository } from './store/repository.ts';
import { violation } from './store/trouble.ts';
import { type ViewOfRow, viewer } from './view.ts';
import { camel, withArticle, words } from './words.ts';

/** Adds the operations of a family; returns its repository and view for operations of the family's own. */
export function mount<R extends Resource>(api: Api, resource: R, hooks: Hooks<R> = {}) {
  const family = createFamily(resource, hooks);
  const { path, tag, access } = resource;
  const one = words(resource.name);
  const many = words(resource.collection);
  const params = { id: idParameter(resource) };
  const common = { tag, access } as const;
  const single = { path: `${path}/{id}`, params, tagged: true, ...common } as const;
  const shown = { status: 200, description: `The ${one}.`, schema: resource.view } as const;

  api.add({
    ...common,
    method: 'POST',
    path,
    params: {},
    operationId: camel(`create_${resource.name}`),
    summary: `Create ${withArticle(resource.name)}`,
    body: resource.create as z.ZodType<Record<string, unknown>>,
    success: { status: 201, description: `The new ${one}.`, schema: resource.view },
    creates: true,
    tagged: true,
    errors: ['CONFLICT', 'IDEMPOTENCY_KEY_REUSED'],
    handle: (call) => create(api, family, call),
  });
  api.add({
    ...common,
    method: 'GET',
    path,
    params: {},
    operationId: camel(`list_${resource.collection}`),
    summary: `List ${many}`,
    description: 'Newest first. Follow `next_page_uri` until it is null.',
    query: pageQuery(resource),
    success: { status: 200, description: `A page of ${many}.`, schema: listView(resource) },
    handle: (call) => list(api, family, call),
  });
  api.add({
    ...single,
    method: 'GET',
    operationId: camel(`get_${resource.name}`),
    summary: `Get ${withArticle(resource.name)}`,
    success: shown,
    errors: ['NOT_FOUND'],
    handle: (call) => get(api, family, call),
  });
  api.add({
    ...single,
    method: 'PATCH',
    operationId: camel(`update_${resource.name}`),
    summary: `Update ${withArticle(resource.name)}`,
    description: 'Changes the fields that are given. Null sets an optional field back to what it is when never set.',
    body: resource.update as z.ZodType<Record<string, unknown>>,
    success: shown,
    errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
    handle: (call) => update(api, family, call),
  });
  api.add({
    ...single,
    method: 'DELETE',
    operationId: camel(`delete_${resource.name}`),
    summary: `Delete ${withArticle(resource.name)}`,
    success: { status: 204, description: 'It is gone.' },
    errors: ['NOT_FOUND', 'RESOURCE_IN_USE', 'PRECONDITION_FAILED'],
    handle: (call) => remove(api, family, call),
  });
  return family;
}

/** The path parameter that names a resource of this family. */
export function idParameter(resource: Resource): PathParameter {
  return { schema: resource.id, description: `Id of the ${words(resource.name)}.` };
}

export interface Family<R extends Resource = Resource> {
  resource: R;
  hooks: Hooks<R>;
  rows: Repository;
  show(row: Row, base: string): ViewOfRow;
  /** The view as the hooks see it, with the types of the definition. */
  typed(view: ViewOfRow): View<R>;
  /** Throws NOT_FOUND for a missing row, and for one that this caller may not know of. */
  require(row: Row | undefined, id: string, caller: Caller): Row;
}

function createFamily<R extends Resource>(resource: R, hooks: Hooks<R>): Family<R> {
  return {
    resource,
    hooks,
    rows: repository(resource, hooks.columns),
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

type CreateCall = Call<string, unknown, Record<string, unknown>>;
type SingleCall<Body = unknown> = Call<'id', unknown, Body>;

async function create<R extends Resource>(api: Api, family: Family<R>, call: CreateCall): Promise<Answer> {
  const { resource, hooks, rows } = family;
  const { caller, base } = call;
  const draft = hooks.draft?.(caller, call.body as z.output<R['create']>) ?? {};
  const fields = { ...initialFields(resource), ...given(resource, call.body), ...draft.fields };
  const created_at = new Date().toISOString();
  const row: Row = { ...fields, ...draft.columns, id: newId(resource.prefix), created_at, revision: 1 };
  const view = family.show(row, base);
  const token = draft.token ?? null;
  const event = changed(resource.name, 'created', caller.id, view);

  const insert = async (tx: Executor) => {
    await hooks.beforeCreate?.({ tx, caller, base }, family.typed(view));
    await rows.insert(tx, row, event);
  };
  const answer = (status: number, body: object, shownToken: string | null, headers = {}): Answer => {
    const shown = 'token' in resource.fields ? { ...body, token: shownToken } : body;
    return { status, body: shown, revision: 1, headers: { location: addressOf(body), ...headers } };
  };

  try {
    if (call.idempotencyKey === undefined) {
      // One statement is a transaction of its own.
      await (hooks.beforeCreate ? api.db.transaction(insert) : insert(api.db));
      return answer(201, view, token);
    }
    const tried = attempt(caller, call.idempotencyKey, call.method, call.path, call.sent);
    const earlier = await api.db.transaction(async (tx) => {
      const replay = await claim(tx, tried);
      if (replay) return replay;
      await insert(tx);
      const path = `${resource.path}/${row.id}`;
      await complete(tx, tried, { resourceId: row.id, path, status: 201, body: view, token });
      return undefined;
    });
    if (!earlier) return answer(201, view, token);
    return answer(earlier.status, earlier.body, earlier.token, { [IDEMPOTENCY_REPLAYED_HEADER]: 'true' });
  } catch (error) {
    throw await explained(api, family, error, view);
  }
}

async function list<R extends Resource>(
  api: Api,
  { resource, hooks, rows, show }: Family<R>,
  call: Call<string, { limit?: number | undefined; before_id?: string | undefined }, unknown>,
): Promise<Answer> {
  const { limit = MAX_LIMIT, before_id: before } = call.query;
  const owner = hooks.onlyOwnedBy?.(call.caller);
  const found = await rows.page(api.db, { before, limit: limit + 1, owner });
  const { items, uri, next_page_uri } = pageOf(found, limit, call.base + resource.path);
  return { body: { [resource.collection]: items.map((row) => show(row, call.base)), uri, next_page_uri } };
}

async function get<R extends Resource>(api: Api, family: Family<R>, call: SingleCall): Promise<Answer> {
  const { id } = call.params;
  const row = family.require(await family.rows.get(api.db, id), id, call.caller);
  const { revision } = row;
  return isUnchanged(call.ifNoneMatch, revision)
    ? { status: 304, revision }
    : { body: family.show(row, call.base), revision };
}

async function update<R extends Resource>(
  api: Api,
  family: Family<R>,
  call: SingleCall<Record<string, unknown>>,
): Promise<Answer> {
  const { resource, hooks, rows } = family;
  let after: ViewOfRow | undefined;
  try {
    return await changeLocked(api, family, call, async (change, row) => {
      const next: Row = { ...row, ...given(resource, call.body) };
      after = family.show(next, call.base);
      if (isDeepStrictEqual(next, row)) return { body: after, revision: row.revision };
      await hooks.beforeUpdate?.(change, family.typed(family.show(row, call.base)), family.typed(after));
      const revision = await rows.update(change.tx, next, changed(resource.name, 'updated', call.caller.id, after));
      return { body: after, revision };
    });
  } catch (error) {
    throw after ? await explained(api, family, error, after) : error;
  }
}

function remove<R extends Resource>(api: Api, family: Family<R>, call: SingleCall): Promise<Answer> {
  const { resource, hooks, rows } = family;
  return changeLocked(api, family, call, async (change, row) => {
    const view = family.show(row, call.base);
    await hooks.beforeDelete?.(change, family.typed(view));
    await rows.remove(change.tx, row.id, changed(resource.name, 'deleted', call.caller.id, view));
    return {};
  });
}

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

async function explained<R extends Resource>(api: Api, family: Family<R>, error: unknown, view: ViewOfRow) {
  const broken = violation(error);
  const reason = broken && (await family.hooks.explain?.(broken, family.typed(view), api.db));
  return reason ?? error;
}

function initialFields(resource: Resource): Record<string, unknown> {
  return Object.fromEntries(Object.entries(resource.fields).map(([name, field]) => [name, field.initial]));
}

/** The fields that a request carries; null means the initial value. */
function given(resource: Resource, body: Record<string, unknown>): Record<string, unknown> {
  const members = Object.entries(body).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members.map(([name, value]) => [name, value ?? resource.fields[name]?.initial]));
}

function addressOf(body: object): string {
  return 'uri' in body && typeof body.uri === 'string' ? body.uri : '';
}

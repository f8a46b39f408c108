/** What the five operations of every family do. */
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { newId } from '../resources/id.ts';
import { IDEMPOTENCY_REPLAYED_HEADER } from '../resources/idempotency.ts';
import type { Resource } from '../resources/resource.ts';
import { isUnchanged } from './etag.ts';
import { changeLocked, type Family, type SingleCall } from './family.ts';
import { attempt, claim, complete } from './idempotency.ts';
import type { Answer, Api, Call } from './operation.ts';
import { MAX_LIMIT, pageOf } from './paging.ts';
import type { Executor } from './store/database.ts';
import { changed } from './store/events.ts';
import type { Row } from './store/repository.ts';
import { violation } from './store/trouble.ts';
import type { ViewOfRow } from './view.ts';

type CreateCall = Call<string, unknown, Record<string, unknown>>;

export async function create<R extends Resource>(api: Api, family: Family<R>, call: CreateCall): Promise<Answer> {
  const { resource, hooks, rows } = family;
  const { caller, base } = call;
  const draft = hooks.draft?.(caller, call.body as z.output<R['create']>) ?? {};
  const fields = { ...family.initial, ...given(resource, call.body), ...draft.fields };
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

export async function list<R extends Resource>(
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

export async function get<R extends Resource>(api: Api, family: Family<R>, call: SingleCall): Promise<Answer> {
  const { id } = call.params;
  const row = family.require(await family.rows.get(api.db, id), id, call.caller);
  const { revision } = row;
  return isUnchanged(call.ifNoneMatch, revision)
    ? { status: 304, revision }
    : { body: family.show(row, call.base), revision };
}

export async function update<R extends Resource>(
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

export function remove<R extends Resource>(api: Api, family: Family<R>, call: SingleCall): Promise<Answer> {
  const { resource, hooks, rows } = family;
  return changeLocked(api, family, call, async (change, row) => {
    const view = family.show(row, call.base);
    await hooks.beforeDelete?.(change, family.typed(view));
    await rows.remove(change.tx, row.id, changed(resource.name, 'deleted', call.caller.id, view));
    return {};
  });
}

async function explained<R extends Resource>(api: Api, family: Family<R>, error: unknown, view: ViewOfRow) {
  const broken = violation(error);
  const reason = broken && (await family.hooks.explain?.(broken, family.typed(view), api.db));
  return reason ?? error;
}

/** The fields that a request carries; null means the initial value. */
function given(resource: Resource, body: Record<string, unknown>): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (value !== undefined) fields[name] = value ?? resource.fields[name]?.initial;
  }
  return fields;
}

function addressOf(body: object): string {
  return 'uri' in body && typeof body.uri === 'string' ? body.uri : '';
}

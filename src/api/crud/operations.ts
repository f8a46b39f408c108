/** The handlers of the five operations of every family. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { newId, timeOfId } from '../../resources/definition/id.ts';
import { IDEMPOTENCY_REPLAYED_HEADER } from '../../resources/definition/idempotency.ts';
import { type Manager, WHOLE } from '../../resources/definition/manager.ts';
import { idsOf } from '../../resources/definition/reference.ts';
import type { Fields, Resource } from '../../resources/definition/resource.ts';
import { notFound } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import { MAX_PAGE_BYTES } from '../guard/bytes-in-flight.ts';
import { isUnchanged } from '../http/entity-tags.ts';
import type { Api, Call, OperationResult } from '../http/operation.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';
import { violation } from '../store/database-errors.ts';
import { changeEvent } from '../store/outbox.ts';
import type { Page, Row } from '../store/repository.ts';
import { deletion, type Family, removeLocked, type SingleCall, writeLocked, writeRow } from './family.ts';
import { attempt, claim, type Replay, recall } from './idempotency.ts';
import { type ListQuery, nextQuery, pageQuery } from './list-query.ts';
import { hold } from './managers.ts';
import { pageJson } from './paging.ts';
import { refuseOtherValues } from './read-only.ts';
import { pointersOf, refuseWhileReferenced, setReferences } from './references.ts';
import { explainUniqueness } from './uniqueness.ts';
import { fillPath, NO_BASE } from './view.ts';

type CreateCall = Call<string, unknown, Record<string, unknown>>;

export async function create<R extends Resource>(
  api: Api,
  family: Family<R>,
  call: CreateCall,
): Promise<OperationResult> {
  const { resource, hooks, rows, shownOnce: once } = family;
  const { caller, requestId, base, manager } = call;
  const key = call.idempotencyKey;
  const tried = key === undefined ? undefined : attempt(key, call);
  const answer = (status: number, body: object, shownToken: string | null, headers = {}): OperationResult => {
    const shown = once === undefined ? body : { ...body, [once]: shownToken };
    return { status, body: shown, revision: 1, headers: { location: addressOf(body), ...headers } };
  };
  const replayed = ({ status, body, token }: Replay) => {
    const lacking = family.sealed.lacking(given(resource.fields, call.body));
    return answer(status, family.linked({ ...body, ...lacking }, base), token, {
      [IDEMPOTENCY_REPLAYED_HEADER]: 'true',
    });
  };

  if (tried && hooks.prepare) {
    const earlier = await recall(api.db, tried);
    if (earlier && manager) await api.db.transaction((tx) => holdReplayed(tx, family, earlier, manager));
    if (earlier) return replayed(earlier);
  }
  const id = newId(resource.prefix);
  const { row, token } = await drafted(api, family, call, id);
  const view = family.show(row, base);
  const payload = family.showShort(row, api.eventBase);
  const event = changeEvent(call, resource.name, { kind: 'created', payload, revision: row.revision });
  const stored = family.sealed.seal(api.secrets, row);
  // A new resource has no references to forget.
  const referring = family.referring.filter((name) => idsOf(row[name]).length > 0);

  const insert = async (tx: Executor) => {
    await requireParent(tx, family, call.params, 'for key share');
    await setFieldReferences(tx, family, row, referring);
    await hooks.beforeCreate?.({ api, tx, caller, requestId }, family.typed(view));
    await rows.insert(tx, stored, event, manager);
    await hooks.afterCreate?.({ api, tx, caller, requestId }, family.typed(view));
  };

  try {
    if (tried === undefined) {
      // A single statement is a transaction of its own.
      await (hooks.beforeCreate || hooks.afterCreate || resource.parent || referring.length > 0
        ? api.db.transaction(insert)
        : insert(api.db));
      return answer(201, view, token);
    }
    const path = `${fillPath(resource.path, row)}/${id}`;
    const response = { resourceId: id, path, status: 201, body: family.showShort(row, NO_BASE), token };
    const earlier = await api.db.transaction(async (tx) => {
      const replay = await claim(tx, tried, response);
      if (!replay) await insert(tx);
      else if (manager) await holdReplayed(tx, family, replay, manager);
      return replay;
    });
    return earlier ? replayed(earlier) : answer(201, view, token);
  } catch (error) {
    throw await explained(api, family, error, row);
  }
}

const withId = z.object({ id: z.string() });

/** A replay claims the resource again: the first attempt may have named no manager, or another. @throws CONFLICT */
async function holdReplayed<R extends Resource>(
  tx: Executor,
  { rows }: Family<R>,
  { body }: Replay,
  manager: Manager,
): Promise<void> {
  const { id: resourceId } = withId.parse(body);
  if (await rows.lock(tx, resourceId)) await hold(tx, { resourceId, part: WHOLE }, manager);
}

/** The row of a new resource, and its one-time token. */
async function drafted<R extends Resource>(
  api: Api,
  { resource, hooks, initial }: Family<R>,
  call: CreateCall,
  id: string,
) {
  const input = call.body as z.output<R['create']>;
  const draft = hooks.draft?.(call.caller, input);
  const prepared = hooks.prepare && (await hooks.prepare(input, id, api, call));
  const own = { id, created_at: timeOfId(id), revision: 1 };
  // Later parts override earlier ones.
  const row: Row = Object.assign(
    { ...initial },
    given(resource.fields, call.body),
    draft?.fields,
    draft?.columns,
    prepared?.fields,
    prepared?.columns,
    inside(resource, call),
    own,
  );
  Object.assign(row, hooks.derive?.(row, undefined, api));
  return { row, token: draft?.token ?? prepared?.token ?? null };
}

export async function list<R extends Resource>(
  api: Api,
  family: Family<R>,
  call: Call<string, ListQuery, unknown>,
): Promise<OperationResult> {
  const { resource, rows } = family;
  await requireParent(api.db, family, call.params);
  const query = pageQuery(family, call.query, family.scope(call));
  const account = resource.access === 'platform' ? undefined : call.caller.account;
  const found = query ? await rows.page(api.db, { ...query, account, maxBytes: MAX_PAGE_BYTES }) : NO_ROWS;
  const uri = call.base + fillPath(resource.path, call.params);
  const show = (row: Row) => family.show(family.opened(api.secrets, row, call), call.base);
  const next = (last: Row) => nextQuery(family, call.query, last);
  return { json: pageJson(found, show, { name: resource.collection, uri, next }) };
}

const NO_ROWS: Page = { rows: [], more: false };

export async function get<R extends Resource>(api: Api, family: Family<R>, call: SingleCall): Promise<OperationResult> {
  const { id } = call.params;
  const row = family.require(await family.rows.get(api.db, id), id, call);
  const { revision } = row;
  return isUnchanged(call.ifNoneMatch, revision) && !family.hooks.isVolatile?.(row)
    ? { status: 304, revision }
    : { body: family.show(family.opened(api.secrets, row, call), call.base), revision };
}

export async function update<R extends Resource>(
  api: Api,
  family: Family<R>,
  call: SingleCall<Record<string, unknown>>,
): Promise<OperationResult> {
  const { resource, hooks } = family;
  let written: Row | undefined;
  try {
    return await writeLocked(api, family, call, async (context, row) => {
      const asked: Row = { ...row, ...given(resource.fields, call.body) };
      const next: Row = { ...asked, ...hooks.derive?.(asked, row, api) };
      const after = family.show(next, call.base);
      await refuseOtherValues(context, family, call.sentBack, { row, before: family.show(row, call.base), after });
      written = next;
      if (isDeepStrictEqual(next, row)) return { body: after, revision: row.revision };
      const moved = family.referring.filter((name) => !isDeepStrictEqual(next[name], row[name]));
      await setFieldReferences(context.tx, family, next, moved);
      await hooks.beforeUpdate?.(context, family.typed(family.show(row, call.base)), family.typed(after));
      return { body: after, revision: await writeRow(context, family, row, next) };
    });
  } catch (error) {
    throw written ? await explained(api, family, error, written) : error;
  }
}

export function remove<R extends Resource>(
  api: Api,
  family: Family<R>,
  call: SingleCall & { query: { cascade?: boolean | undefined } },
): Promise<OperationResult> {
  const { resource, hooks, rows } = family;
  return removeLocked(api, family, call, async (context, row) => {
    const going = await hooks.beginDeletion?.(context, row, call.query.cascade ?? false);
    if (going) return { status: 202, body: family.show(going, call.base), revision: going.revision };
    const view = family.show(row, call.base);
    if (!resource.deletableWhileReferenced) await refuseWhileReferenced(context.tx, row.id);
    const details = await hooks.beforeDelete?.(context, family.typed(view));
    await family.detach(context.tx, [row.id]);
    await rows.remove(context.tx, row.id, deletion(context, family, row, details));
    return {};
  });
}

/** The API's error for the schema rule that a write broke; runs after the transaction has ended. */
async function explained<R extends Resource>({ db }: Api, family: Family<R>, error: unknown, row: Row) {
  const broken = violation(error);
  if (!broken) return error;
  const { resource, hooks } = family;
  return hooks.explain?.(broken, row) ?? (await explainUniqueness(resource, broken, row, db)) ?? error;
}

/** The id of the parent, which the path carries. */
function inside({ parent }: Resource, call: CreateCall): Record<string, unknown> {
  return parent ? { [parent.parameter]: call.params[parent.parameter] } : {};
}

/** Throws NOT_FOUND when the parent in the path does not exist. */
async function requireParent<R extends Resource>(
  db: Executor,
  { resource: { parent } }: Family<R>,
  params: Readonly<Record<string, string>>,
  lock = '',
): Promise<void> {
  if (!parent) return;
  const id = params[parent.parameter] ?? '';
  const name = `${parent.of.table}.${lock ? 'hold' : 'exists'}`;
  const text = `select 1 from ${parent.of.table} where id = $1 and ${ofThisAccount()} ${lock}`;
  const found = await db.query({ name, text, values: [id] });
  if (found.length === 0)
    throw notFound(`The ${words(parent.of.name)} ${id} does not exist.`, { [parent.parameter]: id });
}

async function setFieldReferences<R extends Resource>(
  tx: Executor,
  { resource }: Family<R>,
  row: Row,
  names: readonly string[],
): Promise<void> {
  for (const field of names) {
    await setReferences(
      tx,
      { referrer: resource, referrerId: row.id, field },
      pointersOf(resource.fields, field, row[field]),
    );
  }
}

/** The fields that a request carries; null means the initial value. */
export function given(fields: Fields, body: Record<string, unknown>): Record<string, unknown> {
  const carried: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (value !== undefined) carried[name] = value ?? fields[name]?.initial;
  }
  return carried;
}

function addressOf(body: object): string {
  return 'uri' in body && typeof body.uri === 'string' ? body.uri : '';
}

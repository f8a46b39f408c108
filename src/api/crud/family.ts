/** A mounted family: its definition, its hooks, its rows, and how they are shown. */
import { type Filter, filtersOf } from '../../resources/definition/filter.ts';
import { type ManagedPart, WHOLE } from '../../resources/definition/manager.ts';
import { type Fields, isShown, type Resource, type View } from '../../resources/definition/resource.ts';
import { notFound } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import { seesSecrets } from '../http/authorization.ts';
import { checkIfMatch } from '../http/entity-tags.ts';
import type { Api, Call, Operation, OperationResult, PathParameter, Permission } from '../http/operation.ts';
import type { Secrets } from '../secrets/sealing.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';
import { type Author, changeEvent, type OutboxEvent } from '../store/outbox.ts';
import { FIRST } from '../store/page-statement.ts';
import { type Repository, type Row, repository } from '../store/repository.ts';
import type { EventDetails, Hooks, WriteContext } from './hooks.ts';
import { hold } from './managers.ts';
import { dropReferences, referringFields } from './references.ts';
import { type SealedFields, sealedFields } from './sealed-fields.ts';
import { differing, linker, NO_BASE, type ViewOfRow, viewer } from './view.ts';

/** The path parameter that names a resource of this family. */
export function idParameter(resource: Pick<Resource, 'id' | 'name'>): PathParameter {
  return { schema: resource.id, description: `Id of the ${words(resource.name)}.` };
}

/** The path parameters of one resource: its own id, and that of its parent if it has one. */
export function singleParameters(resource: Resource): Record<'id', PathParameter> {
  const { parent } = resource;
  const above = parent ? { [parent.parameter]: idParameter(parent.of) } : {};
  return { ...above, id: idParameter(resource) };
}

/** What the operations of a family have in common. In families with owners, callers who are not admins see only their own. */
export function belongingTo(resource: Pick<Resource, 'tag' | 'access' | 'table'>): Permission & Pick<Operation, 'tag'> {
  const { tag, access, table } = resource;
  return { tag, access: access === 'owner' ? 'anyone' : access, family: table };
}

/** The values of fields that a request leaves out. */
export function initialFields(fields: Fields): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).map(([name, { initial }]) => [name, initial]));
}

export interface Family<R extends Resource = Resource> {
  resource: R;
  hooks: Hooks<R>;
  /** Its operations, in the order of the documentation. */
  operations: readonly Operation[];
  /** Adds an operation of the family's own. */
  add(operation: Operation): void;
  rows: Repository;
  /** What its list can be limited by. */
  filters: readonly Filter[];
  /** The fields of a new resource whose request leaves all of them out. */
  initial: Readonly<Record<string, unknown>>;
  /** The field of a secret that is not stored under its name, if there is one. */
  secret: string | undefined;
  /** The same field, if the creation response shows it. */
  shownOnce: string | undefined;
  show(row: Row, base: string): ViewOfRow;
  /** Completes the links of a stored view, which has no base. */
  linked(stored: Readonly<Record<string, unknown>>, base: string): object;
  /** Its fields with secret parts. */
  sealed: SealedFields;
  /** A row of the database as this call may see it: with its secrets, or without. */
  opened(secrets: Secrets, row: Row, call: Pick<Call, 'caller'>): Row;
  /** The view that events and stored responses have: without the secret parts of values. */
  showShort(row: Row, base: string): ViewOfRow;
  /** The view as the hooks see it, with the types of the definition. */
  typed(view: ViewOfRow): View<R>;
  /** The column values that a row must have to be visible to this call: its owner, and its parent. */
  scope(call: Reach): Readonly<Record<string, string>>;
  /** Throws NOT_FOUND for a missing row, and for one that is not visible to this call. */
  require(row: Row | undefined, id: string, call: Reach): Row;
  /** Fields that refer to other resources. */
  referring: readonly string[];
  /** Deletes what belongs to deleted resources: references from them, and what `onRemoval` has registered. */
  detach(tx: Executor, ids: readonly string[]): Promise<void>;
  /** Registers work to do when resources of the family are deleted. */
  onRemoval(work: (tx: Executor, ids: readonly string[]) => Promise<void>): void;
}

type Reach = Pick<Call, 'caller' | 'params'>;

/** @param hooks what is special about the family */
export function createFamily<R extends Resource>(resource: R, hooks: Hooks<R>): Family<R> {
  const { parent } = resource;
  const referring = referringFields(resource.fields);
  const attached: ((tx: Executor, ids: readonly string[]) => Promise<void>)[] = [];
  const refers = referring.length > 0 || hooks.refers;
  const operations: Operation[] = [];
  const scope = ({ caller, params }: Reach) => {
    const owner = resource.access === 'owner' && !caller.admin ? caller.id : undefined;
    const inside = parent && params[parent.parameter];
    return {
      ...(owner === undefined ? {} : { owner_id: owner }),
      ...(parent === undefined || inside === undefined ? {} : { [parent.parameter]: inside }),
    };
  };
  const sealed = sealedFields(resource);
  const show = viewer(resource);
  const [secret, secretField] = Object.entries(resource.fields).find(([, { storage }]) => storage === 'none') ?? [];
  return {
    resource,
    hooks,
    operations,
    add: (operation) => void operations.push(operation),
    rows: repository(resource, hooks.columns),
    filters: filtersOf(resource),
    initial: initialFields(resource.fields),
    secret,
    shownOnce: secretField && isShown(secretField) ? secret : undefined,
    sealed,
    opened: (secrets, row, { caller }) => (seesSecrets(caller) ? sealed.open(secrets, row) : sealed.shorten(row)),
    show,
    showShort: (row, base) => show(sealed.shorten(row), base),
    linked: linker(resource),
    // The generic schema's output is View<R> by definition; TypeScript cannot see it through the type parameter.
    typed: (view) => resource.view.parse(view) as View<R>,
    scope,
    referring,
    async detach(tx, ids) {
      for (const work of attached) await work(tx, ids);
      // Last, since the work above may have waited for writes that added references.
      if (refers) await dropReferences(tx, ids);
    },
    onRemoval: (work) => void attached.push(work),
    require(row, id, call) {
      if (row && Object.entries(scope(call)).every(([column, value]) => row[column] === value)) return row;
      throw notFound(`The ${words(resource.name)} ${id} does not exist.`, { id });
    },
  };
}

/** A request about one existing resource. */
export type SingleCall<Body = unknown> = Call<'id', unknown, Body>;

/** What to do with a row that is locked. */
export type Work = (context: WriteContext, row: Row) => Promise<OperationResult>;

/**
 * Runs a change of one existing resource: locked, visible to the caller, managed by no other than the call names, and at a
 * revision that they accept.
 * @param part what the call changes
 */
export function writeLocked<R extends Resource>(
  api: Api,
  family: Family<R>,
  call: SingleCall,
  work: Work,
  part?: ManagedPart,
): Promise<OperationResult> {
  return api.db.transaction((tx) => withLocked(api, tx, family, call, family.rows.lock, work, part));
}

/** The same for a removal. */
export function removeLocked<R extends Resource>(
  api: Api,
  family: Family<R>,
  call: SingleCall,
  work: Work,
): Promise<OperationResult> {
  return api.db.transaction((tx) => withLocked(api, tx, family, call, family.rows.lockToRemove, work));
}

/** The same as `writeLocked`, as part of a transaction. */
export function writeLockedIn<R extends Resource>(
  api: Api,
  tx: Executor,
  family: Family<R>,
  call: SingleCall,
  work: Work,
): Promise<OperationResult> {
  return withLocked(api, tx, family, call, family.rows.lock, work);
}

async function withLocked<R extends Resource>(
  api: Api,
  tx: Executor,
  family: Family<R>,
  call: SingleCall,
  lock: Repository['lock'],
  work: Work,
  part: ManagedPart = WHOLE,
): Promise<OperationResult> {
  const { id } = call.params;
  const context = { api, tx, caller: call.caller, requestId: call.requestId };
  await family.hooks.lockFirst?.(context, id);
  const row = family.require(await lock(tx, id), id, call);
  if (call.manager) await hold(tx, { resourceId: id, part }, call.manager);
  checkIfMatch(call.ifMatch, row.revision);
  return work(context, family.sealed.open(api.secrets, row));
}

/**
 * Writes a locked row with its event; returns the new revision.
 * @param before the row as it was locked
 * @param details additional members of the event's payload
 * @param unseen changed fields whose values no view has
 */
export function writeRow<R extends Resource>(
  context: Author & Pick<WriteContext, 'api' | 'tx'>,
  family: Family<R>,
  before: Row,
  next: Row,
  details: EventDetails = {},
  unseen: readonly string[] = [],
): Promise<number> {
  const { api, tx } = context;
  const { resource, sealed, show, showShort } = family;
  const payload = { ...showShort(next, api.eventBase), ...details };
  // With the secret parts, of which a change must be seen.
  const seen = differing(show(before, NO_BASE), { ...show(next, NO_BASE), ...details });
  const changedFields = [...seen, ...unseen];
  const revision = before.revision + 1;
  const event = changeEvent(context, resource.name, { kind: 'updated', payload, revision, changedFields });
  return family.rows.update(tx, sealed.seal(api.secrets, next, before), event);
}

/** The event of the deletion of a row. */
export function deletion<R extends Resource>(
  context: Author & { readonly api: Pick<Api, 'eventBase'> },
  { resource, showShort }: Family<R>,
  row: Row,
  details: EventDetails = {},
): OutboxEvent {
  const payload = { ...showShort(row, context.api.eventBase), ...details };
  return changeEvent(context, resource.name, { kind: 'deleted', payload, revision: row.revision + 1 });
}

/** Deletes all resources with this value in one column, with what belongs to them and an event for each. */
export async function removeWhere<R extends Resource>(
  context: WriteContext,
  family: Family<R>,
  column: string,
  value: string,
): Promise<void> {
  const { tx } = context;
  const { resource, rows, detach } = family;
  // Without these locks, a concurrent change could attach something to one of them that would never be deleted.
  await tx.query({
    text: `select 1 from ${resource.table} where ${column} = $1 and ${ofThisAccount()} order by id for update`,
    values: [value],
  });
  // Continues after the last id: until the transaction ends, the index still contains the deleted rows.
  for (let last: string | undefined = FIRST; last !== undefined; ) {
    const gone: Row[] = await rows.where(tx, column, value, { after: last, limit: REMOVED_AT_ONCE });
    last = gone[REMOVED_AT_ONCE - 1]?.id;
    const ids = gone.map(({ id }) => id);
    if (ids.length === 0) return;
    await detach(tx, ids);
    await rows.removeMany(
      tx,
      ids,
      gone.map((row) => deletion(context, family, row)),
    );
  }
}

/** Bounds the memory: a parent may have any number of resources. */
const REMOVED_AT_ONCE = 100;

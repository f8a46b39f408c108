/**
 * Who manages a resource: one object, in one of perhaps several clusters. A request that names a manager is refused when
 * another one is recorded; without a record, it becomes the manager. Requests that name none are not checked.
 *
 * Call these while the resource is locked, so that no other request records a manager meanwhile.
 */
import { z } from 'zod';
import { detailsOf, type ManagedPart, type Manager, MODULES } from '../../resources/definition/manager.ts';
import { type ApiError, conflict } from '../errors/errors.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';
import { MANAGER_COLUMNS, managerValues } from '../store/manager-record.ts';

/** What is managed. */
export interface Managed {
  resourceId: string;
  part: ManagedPart;
}

const SHOWN = [...MANAGER_COLUMNS, 'since'].join(', ');

const row = z
  .object({ manager_id: z.string(), namespace: z.string(), kind: z.string(), name: z.string(), since: z.string() })
  .transform(({ manager_id: id, ...others }) => ({ id, ...others }));

export type ManagerRecord = z.output<typeof row>;

const READ = `select ${SHOWN} from resource_managers where resource_id = $1 and part = $2 and ${ofThisAccount()}`;

/** Does not see the row that it inserts. */
const RECORD = `
  with recorded as (
    insert into resource_managers (resource_id, part, ${SHOWN}) values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (resource_id, part) do nothing)
  ${READ}`;

const REPLACE = `
  update resource_managers set (${SHOWN}) = ($3, $4, $5, $6, $7) where resource_id = $1 and part = $2`;

const REMOVE = 'delete from resource_managers where resource_id = $1 and part = $2';

export async function readManagerOf(db: Executor, { resourceId, part }: Managed): Promise<ManagerRecord | undefined> {
  const [found] = await db.query({ name: 'manager.read', text: READ, values: [resourceId, part] });
  return found && row.parse(found);
}

/**
 * Makes it the manager, unless another one is recorded; returns the record.
 * @param takeOverFrom the manager that it may replace
 * @throws CONFLICT naming the other manager
 */
export async function hold(
  tx: Executor,
  { resourceId, part }: Managed,
  manager: Manager,
  takeOverFrom?: string | null,
): Promise<ManagerRecord> {
  const now = new Date().toISOString();
  const values = [resourceId, part, ...managerValues(manager), now];
  const [found] = await tx.query({ name: 'manager.record', text: RECORD, values });
  if (!found) return { ...manager, since: now };
  const recorded = row.parse(found);
  if (recorded.id === manager.id) return recorded;
  if (recorded.id !== takeOverFrom) throw managedByAnother({ resourceId, part }, recorded);
  await tx.query({ name: 'manager.replace', text: REPLACE, values });
  return { ...manager, since: now };
}

/** @throws CONFLICT if another manager than this one is recorded */
export async function release(tx: Executor, managed: Managed, manager?: Manager): Promise<void> {
  const recorded = manager && (await readManagerOf(tx, managed));
  if (recorded && recorded.id !== manager.id) throw managedByAnother(managed, recorded);
  await tx.query({ name: 'manager.remove', text: REMOVE, values: [managed.resourceId, managed.part] });
}

function managedByAnother({ resourceId, part }: Managed, { id, namespace, kind, name }: ManagerRecord): ApiError {
  const [what, is] = part === MODULES ? [`The modules of ${resourceId}`, 'are'] : [resourceId, 'is'];
  return conflict(`${what} ${is} already managed by ${kind} ${namespace}/${name} (${id}).`, {
    ...detailsOf({ id, namespace, kind, name }),
    resource_id: resourceId,
  });
}

/**
 * The deletion of an account with all that belongs to it, in small transactions. Each holds the lease and records what it has
 * deleted, so another process can go on at any point. There are no events of the resources, since the log of the account goes as well.
 */
import { z } from 'zod';
import { accountDeletion } from '../../resources/account.ts';
import { deletion } from '../crud/family.ts';
import { words } from '../errors/naming.ts';
import { pruneDestinations } from '../events/queue/delivery-retention.ts';
import { accounts, refuseWhileHolding } from '../families/account.ts';
import type { Mounted } from '../families/all.ts';
import { heldBy, type Lease } from '../leases/leases.ts';
import type { Database, Executor } from '../store/database.ts';
import { LOCKS, lockAccount, lockUntilCommit } from '../store/locks.ts';
import { forgetManagersCte } from '../store/manager-record.ts';
import { FIRST } from '../store/page-statement.ts';
import { IN_ORDER_OF_DELETION } from './deletion-order.ts';

const PREFIX = 'account deletion ';
export const leaseOf = (account: string) => PREFIX + account;
export const accountOfLease = ({ name }: Lease) => name.slice(PREFIX.length);

/** Resources that one transaction deletes. */
const BATCH = 100;
/** Rows that one statement deletes, or looks at in a table without an index by account. */
const LOOKED_AT = 5_000;

/** Somebody else works on it from now on, or it is done. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export interface DeletionOptions {
  eventBase: string;
  /** Interrupts it after the transaction under way. */
  signal: AbortSignal;
}

/** What is being deleted, and with which lease. */
interface Job {
  db: Database;
  lease: Lease;
  account: string;
  signal: AbortSignal;
}

/** The accounts whose deletion is to go on, and that nobody works on. */
export async function dueDeletions(db: Executor, limit: number): Promise<string[]> {
  const text = `
    select id from accounts a
     where deletion is not null and deletion_due_at <= clock_timestamp()
       and not exists (select from leases where name = '${PREFIX}' || a.id and until > clock_timestamp())
     order by deletion_due_at limit $1`;
  return (await db.query({ name: 'account_deletions.due', text, values: [limit] })).map(({ id }) => String(id));
}

/** Deletes all that belongs to the account, and then the account. @throws Interrupted */
export async function deleteAccount(db: Database, lease: Lease, { eventBase, signal }: DeletionOptions): Promise<void> {
  const job = { db, lease, account: accountOfLease(lease), signal };
  await count(job);
  for (const family of IN_ORDER_OF_DELETION)
    await naming(words(family.resource.table), () => deleteResources(job, family));
  await naming('event deliveries', () => deleteDeliveries(job));
  await naming('events', () => deleteEvents(job));
  for (const table of ['idempotency_keys', 'idempotency_scopes'])
    await naming(words(table), () => walk(job, table, ['principal', 'digest']));
  await naming('the account', () => removeAccount(job, eventBase));
}

async function naming(what: string, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    if (error instanceof Interrupted) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`could not delete ${what}: ${reason}`, { cause: error });
  });
}

/** Runs a transaction that takes effect only while the lease is held. @throws Interrupted */
function step<T>({ db, lease, signal }: Job, work: (tx: Executor) => Promise<T>): Promise<T> {
  if (signal.aborted) throw new Interrupted();
  return db.transaction(async (tx) => {
    const { name, fence } = lease;
    const [held] = await tx.query({ name: 'account_deletions.hold', text: heldBy(1), values: [name, fence] });
    if (!held) throw new Interrupted();
    return work(tx);
  });
}

const counted = z.object({ count: z.number() });

/** Once: later on, each transaction subtracts what it deletes. */
async function count(job: Job): Promise<void> {
  const { db, account } = job;
  const [row] = await db.query({ text: 'select deletion from accounts where id = $1', values: [account] });
  if (!row) throw new Interrupted();
  if (accountDeletion.parse(row.deletion).remaining !== null) return;
  let remaining = 0;
  for (const { resource } of IN_ORDER_OF_DELETION) {
    const text = `select count(*) from ${resource.table} where account_id = $1`;
    const [found] = await db.query({ text, values: [account] });
    remaining += counted.parse(found).count;
  }
  await step(job, (tx) =>
    tx.query({
      text: `update accounts set deletion = jsonb_set(deletion, '{remaining}', to_jsonb($2::bigint)) where id = $1`,
      values: [account, remaining],
    }),
  );
}

/** What has been deleted is no problem any more. */
const PROGRESS = `
  update accounts
     set deletion = deletion || jsonb_build_object('error', null, 'remaining', greatest(0, (deletion ->> 'remaining')::bigint - $2)),
         deletion_failures = 0
   where id = $1`;

async function deleteResources(job: Job, { resource, detach }: Mounted): Promise<void> {
  const { table } = resource;
  // As in the index by account. The lock keeps others from attaching something to a resource that is about to go.
  const text = `
    select id from ${table} where (account_id, id) > ($1, $2) and account_id = $1 order by account_id, id limit ${BATCH} for update`;
  const remove = `
    with ${forgetManagersCte('= any($2)')} delete from ${table} where id = any($2) and account_id = $1`;
  for (let last: string | undefined = FIRST; last !== undefined; ) {
    const after = last;
    last = await step(job, async (tx) => {
      const found = await tx.query({ name: `account_deletions.${table}`, text, values: [job.account, after] });
      const ids = found.map(({ id }) => String(id));
      if (ids.length === 0) return undefined;
      await detach(tx, ids);
      await tx.query({ name: `account_deletions.${table}.gone`, text: remove, values: [job.account, ids] });
      await tx.query({ name: 'account_deletions.progress', text: PROGRESS, values: [job.account, ids.length] });
      return ids.at(-1);
    });
  }
}

/** Those of its destinations, of which it has none any more. */
async function deleteDeliveries(job: Job): Promise<void> {
  // A fan-out that began earlier still sees destinations. Later ones see none.
  await step(job, (tx) => lockUntilCommit(tx, LOCKS.eventFanOut));
  await pruneDestinations(job.db, { signal: job.signal });
}

const EVENTS = `
  delete from events where id = any(array(select id from events where account_id = $1 order by id limit ${LOOKED_AT})) returning 1`;

/** Those in the queue are dropped by the fan-out. */
async function deleteEvents(job: Job): Promise<void> {
  for (let gone = LOOKED_AT; gone === LOOKED_AT; )
    gone = (
      await step(job, (tx) => tx.query({ name: 'account_deletions.events', text: EVENTS, values: [job.account] }))
    ).length;
}

const walked = z.object({ last: z.array(z.string()).nullable() });

/** Deletes the rows of the account from a table that has no index by account, looking at a limited number at a time. */
async function walk(job: Job, table: string, key: readonly string[]): Promise<void> {
  const columns = key.join(', ');
  const parameters = key.map((_, index) => `$${index + 2}`).join(', ');
  const text = `
    with batch as (
      select ${columns}, account_id from ${table} where (${columns}) > (${parameters}) order by ${columns} limit ${LOOKED_AT}),
    gone as (
      delete from ${table} t using batch b
       where ${key.map((column) => `t.${column} = b.${column}`).join(' and ')} and b.account_id = $1 and t.account_id = $1)
    select array[${columns}] as last from batch order by ${key.map((column) => `${column} desc`).join(', ')} limit 1`;
  for (let after: readonly string[] | null = key.map(() => ''); after !== null; ) {
    const values: string[] = [job.account, ...after];
    const [row] = await step(job, (tx) => tx.query({ name: `account_deletions.${table}`, text, values }));
    after = row ? walked.parse(row).last : null;
  }
}

const author = z.object({ id: z.string(), keyId: z.string().nullable(), requestId: z.string().nullable() });

/** With the event, in the name of who asked for it. */
function removeAccount(job: Job, eventBase: string): Promise<void> {
  const { account } = job;
  return step(job, async (tx) => {
    const row = await accounts.rows.lockToRemove(tx, account);
    if (!row) throw new Interrupted();
    await lockAccount(tx, account);
    await refuseWhileHolding(tx, account);
    const [asked] = await tx.query({ text: 'select deletion_author from accounts where id = $1', values: [account] });
    const { requestId, ...caller } = author.parse(asked?.deletion_author);
    await accounts.rows.remove(tx, account, deletion({ api: { eventBase }, caller, requestId }, accounts, row));
  });
}

/** Shows why it failed, and when to try again. Returns the number of failures since the last success. */
export async function recordFailure(
  db: Executor,
  { name, fence }: Lease,
  account: string,
  error: string,
  delayMs: (failures: number) => number,
): Promise<void> {
  const [row] = await db.query({ text: 'select deletion_failures from accounts where id = $1', values: [account] });
  if (!row) return;
  const text = `
    with held as (${heldBy(1)})
    update accounts
       set deletion = jsonb_set(deletion, '{error}', to_jsonb($4::text)), deletion_failures = deletion_failures + 1,
           deletion_due_at = clock_timestamp() + $5 * interval '1 millisecond'
      from held where id = $3`;
  const values = [name, fence, account, error, delayMs(Number(row.deletion_failures) + 1)];
  await db.query({ name: 'account_deletions.failed', text, values });
}

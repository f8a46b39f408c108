/** The statements that writes of every family run on shared tables, and rows for those tables. */

import * as idempotency from '../../src/api/crud/idempotency.ts';
import * as scopes from '../../src/api/crud/idempotency-scopes.ts';
import { removeModules } from '../../src/api/crud/module-store.ts';
import { dropReferences, refuseWhileReferenced, setReferences } from '../../src/api/crud/references.ts';
import {
  deletedDestinations,
  ofDestination,
  pruning as pruningDeliveries,
} from '../../src/api/events/queue/delivery-retention.ts';
import { adding, taking } from '../../src/api/events/queue/fan-out.ts';
import { replayDeliveries, requeue } from '../../src/api/events/queue/requeue.ts';
import { dueHeads, leaseOf, settle } from '../../src/api/events/queue/streams.ts';
import { dueDomains } from '../../src/api/issuance/jobs.ts';
import type { Database } from '../../src/api/store/database.ts';
import { pruning } from '../../src/api/store/event-retention.ts';
import type { Statement } from '../../src/api/store/statement.ts';
import { ipPolicy } from '../../src/resources/ip-policy.ts';
import { CALLER } from '../fixtures/caller.ts';
import { statementsOf } from './explain.ts';
import { fillTable, idOfRow } from './fill.ts';

type Query = (text: string) => Promise<{ rows: unknown[] }>;

const OWN = idOfRow('ec', 1);
const HOUR_MS = 3_600_000;
const BATCH = { after: '', limit: 1000, now: Date.now() };
const PLACE = { scope: 'x7', sequence: 1 };

/** Fills each of the tables that the statements below read. */
export async function fillShared(query: Query, count: number): Promise<void> {
  const fill = (table: string, values: Record<string, string> = {}) =>
    fillTable(query, { table, prefix: 'x' }, count, values);
  await fill('ip_policies');
  await fill('events');
  const destination_id = "'x' || n / 3000";
  await fill('event_destinations', { id: "'x' || n" });
  await fill('event_deliveries', {
    destination_id,
    event_id: "'x' || n / 3",
    state: "case when n % 100 = 0 then 'pending' else 'delivered' end",
  });
  await fill('event_streams', { destination_id, resource_id: "'x' || n" });
  await query(
    `insert into event_queue (event_id, subscription_ids) select 'x' || n, '{}' from generate_series(1, ${count}) n`,
  );
  await query('analyze event_queue');
  await fill('reserved_domains', {
    certificate_management_policy: "'{}'",
    certificate_management_status: "'{}'",
    certificate_job_due_at: "now() + (n - 10) * interval '1 hour'",
  });
  await fill('modules', { owner_id: "'x' || n / 3" });
  const days = 'now() - make_interval(days => 1 + n % 60)';
  await fill('idempotency_keys', {
    resource_id: "'x' || n",
    created_at: `now() - make_interval(secs => n)`,
    sealed_token: "case when n < 1000 then '\\x00'::bytea end",
    closed_at: `case when n % 100 = 0 then ${days} end`,
    scope: "case when n % 2 = 0 then 'x' || n / 3 end",
  });
  await fill('idempotency_scopes', { digest: "'x' || n", used_at: 'now() - make_interval(mins => n)' });
  await fill('resource_references', {
    target_id: "'x' || n / 3",
    place: "'backend_id'",
    referrer: "'https_edge_route'",
  });
}

/** The statements by name. None may read more of its table than it needs. */
export async function hotStatements(): Promise<Record<string, Statement>> {
  const from = { referrer: { name: 'endpoint_configuration' }, referrerId: OWN, field: 'ip_policy_ids' };
  const pointer = { id: idOfRow('x', 7), at: '/ip_policy_ids/0', to: [{ ...ipPolicy, prefix: 'x' }] };
  const tried = idempotency.attempt('a key', {
    caller: CALLER,
    idempotencyPlace: undefined,
    method: 'POST',
    path: '/ip_policies',
    sent: {},
  });
  const one = async (work: Parameters<typeof statementsOf>[0]) => (await statementsOf(work))[0];
  const swept = await statementsOf((db) => idempotency.sweep({ ...db, ...NO_DATABASE }, Date.now()));
  const [tokens, keys, emptyScopes, keptScopes] = swept;
  if (!keys || !emptyScopes || !keptScopes) throw new Error('a sweep must have four statements');
  return {
    'references: set': await one((db) => setReferences(db, from, [pointer]).catch(() => undefined)),
    'references: forget one place': await one((db) => setReferences(db, from, [])),
    'references: who refers to this': await one((db) => refuseWhileReferenced(db, OWN)),
    'references: drop with the referrer': await one((db) => dropReferences(db, [OWN])),
    'modules: drop with the owner': await one((db) => removeModules(db, [OWN])),
    'idempotency: read a key': await one((db) => idempotency.recall(db, tried)),
    'idempotency: forget with the resource': await one((db) => idempotency.forget(db, [OWN])),
    'idempotency: sweep tokens': tokens,
    'idempotency: sweep closed keys': keys,
    'idempotency: claim the next in a scope': await one((db) =>
      idempotency.claim(db, { ...tried, place: PLACE }).catch(() => undefined),
    ),
    'idempotency: read a scope': await one((db) => scopes.readScope(db, CALLER.id, PLACE.scope)),
    'idempotency: close a scope': await one((db) => scopes.closeScope(db, CALLER.id, PLACE.scope)),
    'idempotency: sweep empty scopes': emptyScopes,
    'idempotency: keep the other scopes': keptScopes,
    'events: prune': pruning(BATCH, HOUR_MS),
    'deliveries: prune': pruningDeliveries(BATCH, HOUR_MS),
    'deliveries: find those to send again': await one((db) =>
      replayDeliveries(db, OWN, { account: 'x', since: new Date(0), until: new Date(), only: 'all' }),
    ),
    'deliveries: send one again': await one((db) => requeue(db, [OWN]).catch(() => 0)),
    'deliveries: find deleted destinations': deletedDestinations('event_deliveries'),
    'deliveries: drop with the destination': ofDestination('event_deliveries', OWN, 1000),
    'queue: take events': taking(500),
    'deliveries: add': adding([]),
    'streams: claim what is due': await one((db) => dueHeads(db, OWN, { limit: 256, except: [OWN] })),
    'streams: settle': await one((db) => settle(db, LEASE, [SETTLED])),
    'streams: find deleted destinations': deletedDestinations('event_streams'),
    'certificates: find the jobs that are due': await one((db) => dueDomains(db, new Date(), 16)),
    'streams: drop with the destination': ofDestination('event_streams', OWN, 1000),
  };
}

const LEASE = { name: leaseOf(OWN), fence: 1 };
const ANSWERED = { attempted: true, statusCode: 204, answer: null, error: null };
const SETTLED = { resourceId: OWN, id: OWN, state: 'delivered', retryMs: null, ...ANSWERED } as const;

const NO_DATABASE: Omit<Database, 'query'> = {
  transaction: () => Promise.reject(new Error('there is no database')),
  within: () => ({ ...NO_DATABASE, query: () => Promise.resolve([]) }),
  acrossAccounts: () => ({ ...NO_DATABASE, query: () => Promise.resolve([]) }),
  poolSize: 0,
  usage: () => ({ total: 0, idle: 0, waiting: 0 }),
  close: () => Promise.resolve(),
};

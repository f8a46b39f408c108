/** The hostports of edges. Each lies below a reserved domain and belongs to at most one edge, HTTPS or TLS. */
import { z } from 'zod';
import type { Resource } from '../../resources/definition/resource.ts';
import { coveringNames } from '../../resources/formats/domain-name.ts';
import { hostOf } from '../../resources/formats/hostport.ts';
import { reservedDomain } from '../../resources/reserved-domain.ts';
import { existing } from '../crud/existing.ts';
import type { WriteContext } from '../crud/hooks.ts';
import { moveReferences, setReferences } from '../crud/references.ts';
import { USED_ELSEWHERE } from '../crud/uniqueness.ts';
import { conflict, invalidRequest } from '../errors/errors.ts';
import type { Platform } from '../http/platform.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';
import { COVERING_LOCKS, HOSTPORT_LOCKS } from '../store/locks.ts';
import { isReservable, reservedByService } from './service-domains.ts';

interface Edge {
  id: string;
  hostports: string[];
}

/** Hooks of a family of edges. */
export function listening(resource: Pick<Resource, 'name'>) {
  return {
    refers: true,
    async beforeCreate(context: WriteContext, edge: Edge) {
      if (edge.hostports.length === 0) return;
      await takeTurn(context.tx, edge.hostports);
      await holdCovering(context.tx, edge.hostports);
      await listen(context, resource, edge);
    },
    async beforeUpdate(context: WriteContext, before: Edge, after: Edge) {
      if (before.hostports.join() === after.hostports.join()) return;
      await takeTurn(context.tx, moving(before.hostports, after.hostports));
      await holdCovering(context.tx, [...before.hostports, ...after.hostports]);
      const text = 'delete from edge_hostports where edge_id = $1 and not hostport = any($2)';
      await context.tx.query({ name: 'edge_hostports.leave', text, values: [after.id, after.hostports] });
      await listen(context, resource, after);
    },
  };
}

/** Moves the references of edges to a new domain for the hostports that it covers more closely than their current one. */
export async function coverEdges({ tx, api }: WriteContext, { domain }: { domain: string }): Promise<void> {
  const [, ...others] = coveringNames(domain);
  const below = domain.startsWith('*.') ? domain.slice(1) : null;
  // refuseOverlap has waited for edges that look up their domains. This locks the hostports, so that concurrent
  // reservations take turns and no reference is added for a deleted edge.
  const text = `
    with listening as (
      select r.referrer_id, min(r.referrer) as referrer
        from resource_references r join reserved_domains d on d.id = r.target_id
       where r.place = '${FIELD}' and d.domain = any($1) and ${ofThisAccount('d')} group by 1),
    covered as (
      select distinct edge_id from edge_hostports h join listening l on l.referrer_id = h.edge_id,
             split_part(h.hostport, ':', 1) host
       where host = $2 or right(host, length($3)) = $3)
    select h.hostport, h.edge_id, l.referrer
      from edge_hostports h join covered using (edge_id) join listening l on l.referrer_id = h.edge_id
     order by h.hostport collate "C" for update of h`;
  const statement = { name: 'edge_hostports.covered', text, values: [others, domain, below] };
  const found = covered.parse(await tx.query(statement));
  if (found.length === 0) return;
  const domains = await coveringDomains(
    tx,
    found.map(({ hostport }) => hostport),
    api.platform,
  );
  const references = found.map(({ edge_id, referrer }, at) => ({
    referrer: { name: referrer },
    referrerId: edge_id,
    targetId: domains[at] ?? '',
  }));
  await moveReferences(tx, FIELD, references);
}

/** Teams must not take names from each other: throws CONFLICT if a domain of another account overlaps with this one. */
export async function refuseOverlap({ tx }: WriteContext, domain: string): Promise<void> {
  const [, ...covering] = coveringNames(domain);
  await takeTurnAmong(tx, domain, covering);
  const below = domain.startsWith('*.') ? domain.slice(1) : null;
  const text = 'select is_reserved_elsewhere($1, $2) as overlaps';
  const [found] = await tx.query({ name: 'reserved_domains.overlap', text, values: [covering, below] });
  if (found?.overlaps)
    throw conflict(`The domain ${domain} is already taken, in part or as a part.`, { '/domain': USED_ELSEWHERE });
}

/** The field of edges that refers to domains. */
const FIELD = 'hostports';

const covered = z.array(z.object({ edge_id: z.string(), hostport: z.string(), referrer: z.string() }));

/** Frees the hostports of deleted edges. */
export async function freeHostports(tx: Executor, edgeIds: readonly string[]): Promise<void> {
  // Locks in the order in which hostports are claimed; a plain delete would lock them in any order.
  const text = `
    delete from edge_hostports where hostport in (
      select hostport from edge_hostports where edge_id = any($1) order by hostport for update)`;
  await tx.query({ name: 'edge_hostports.free', text, values: [edgeIds] });
}

/** Hostports added or removed. Unchanged ones need no lock. */
const moving = (before: readonly string[], after: readonly string[]) => [
  ...new Set(before).symmetricDifference(new Set(after)),
];

/**
 * Locks these hostports, for edges of both families. Two edges that swap hostports would otherwise deadlock: each would
 * wait for one that the other has freed but not committed. The locks are on hashes, and are taken in the order of the
 * hashes.
 */
async function takeTurn(tx: Executor, hostports: readonly string[]): Promise<void> {
  const text = `
    select pg_advisory_xact_lock($1, key) from (
      select distinct hashtext(h) as key from unnest($2::text[]) h order by 1) k`;
  await tx.query({ name: 'edge_hostports.take_turn', text, values: [HOSTPORT_LOCKS, hostports] });
}

/** All domain names share this many locks. One for each name would exhaust PostgreSQL's lock table. */
const COVERINGS = 64;

/** Until the transaction ends, keeps others from reserving a domain that covers one of these more closely. */
async function holdCovering(tx: Executor, hostports: readonly string[]): Promise<void> {
  const names = [...new Set(hostports.flatMap((hostport) => coveringNames(hostOf(hostport))))];
  const text = `
    select pg_advisory_xact_lock_shared($1, key) from (
      select distinct hashtext(n) & ${COVERINGS - 1} as key from unnest($2::text[]) n order by 1) k`;
  await tx.query({ name: 'reserved_domains.hold_covering', text, values: [COVERING_LOCKS, names] });
}

/**
 * Waits for reservations of names that cover this one or are covered by it, and for edges that have looked up the domains of
 * their hostports, so that this transaction sees them. In the order of the locks, so that none deadlock.
 */
async function takeTurnAmong(tx: Executor, domain: string, covering: readonly string[]): Promise<void> {
  const text = `
    select case when is_own then pg_advisory_xact_lock($1, key) else pg_advisory_xact_lock_shared($1, key) end from (
      select hashtext(n) & ${COVERINGS - 1} as key, bool_or(n = $2) as is_own
        from unnest(array[$2] || $3::text[]) n group by 1 order by 1) k`;
  await tx.query({ name: 'reserved_domains.take_turn', text, values: [COVERING_LOCKS, domain, covering] });
}

async function listen(
  { tx, api }: WriteContext,
  referrer: Pick<Resource, 'name'>,
  { id, hostports }: Edge,
): Promise<void> {
  const domains = await coveringDomains(tx, hostports, api.platform);
  const pointers = hostports.map((_, index) => ({
    id: domains[index] ?? '',
    at: `/hostports/${index}`,
    to: [reservedDomain],
  }));
  await setReferences(tx, { referrer, referrerId: id, field: FIELD }, pointers);
  await claim(tx, id, hostports);
}

const reserved = z.array(z.object({ id: z.string(), domain: z.string() }));

const UNCOVERED = 'is not covered by a reserved domain';

/** The most specific reserved domain for each. Throws INVALID_REQUEST naming every hostport without one. */
async function coveringDomains(tx: Executor, hostports: readonly string[], platform: Platform): Promise<string[]> {
  const names = hostports.map((hostport) => coveringNames(hostOf(hostport)));
  // Waits for a domain that is being deleted, and then does not find it.
  const text = `select id, domain from reserved_domains where domain = any($1) and ${ofThisAccount()} order by id for key share`;
  const values = [[...new Set(names.flat())]];
  const found = reserved.parse(await tx.query({ name: 'reserved_domains.covering', text, values }));
  const byDomain = new Map(found.map(({ id, domain }) => [domain, id]));
  const covering = names.map((candidates) => candidates.map((name) => byDomain.get(name)).find(Boolean));
  const problems = covering.flatMap((id, index) => {
    if (id !== undefined) return [];
    return [[`/hostports/${index}`, remedyFor(names[index] ?? [], platform)] as const];
  });
  if (problems.length > 0) {
    throw invalidRequest(
      Object.fromEntries(problems.map(([at, remedy]) => [at, `${UNCOVERED}; ${remedy}`])),
      Object.fromEntries(problems.map(([at]) => [at, UNCOVERED])),
    );
  }
  return covering.flatMap((id) => id ?? []);
}

/** Which of the names that cover a hostport to reserve, or why none can be reserved. */
function remedyFor(names: readonly string[], { serviceDomains }: Platform): string {
  // Names further up would cover far more than the hostport.
  const near = names.slice(0, 2).filter((name) => isReservable(name, serviceDomains));
  if (near.length > 0) return `reserve ${near.join(' or ')}`;
  return `it ${reservedByService(names[0] ?? '', serviceDomains) ?? 'cannot be reserved'}`;
}

/**
 * Throws CONFLICT naming every hostport that another edge has, and that edge if it is of the same account. One statement, so that conflicting rows stay locked; a
 * second query might find them released. In order, so that deletions cannot deadlock.
 */
async function claim(tx: Executor, id: string, hostports: readonly string[]): Promise<void> {
  const text = `
    insert into edge_hostports (hostport, edge_id)
    select h, $1 from unnest($2::text[]) h order by h collate "C"
    on conflict (hostport) do update set edge_id = edge_hostports.edge_id
    returning hostport, edge_id`;
  const owners = await tx.query({ name: 'edge_hostports.claim', text, values: [id, hostports] });
  const taken = owners.filter(({ edge_id }) => edge_id !== id);
  if (taken.length === 0) return;
  const visible = await existing(
    tx,
    taken.map(({ edge_id }) => String(edge_id)),
  );
  const details = taken.map(({ hostport, edge_id }) => [
    `/hostports/${hostports.indexOf(String(hostport))}`,
    visible.has(String(edge_id)) ? `is already used by ${edge_id}` : USED_ELSEWHERE,
  ]);
  const named = taken.map(({ hostport }) => hostport).join(', ');
  throw conflict(`Another edge already listens on ${named}.`, Object.fromEntries(details));
}

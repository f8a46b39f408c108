/** Invariants of every database of the API at rest, whatever has happened to it. */
import { z } from 'zod';
import { FIRST_ACCOUNT } from '../../../src/resources/account.ts';
import { moduleSubject } from '../../../src/resources/definition/module.ts';
import { idsOf } from '../../../src/resources/definition/reference.ts';
import { eventTypes, type Fields, type Resource } from '../../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { coveringNames } from '../../../src/resources/formats/domain-name.ts';
import { hostOf } from '../../../src/resources/formats/hostport.ts';
import { httpsEdge } from '../../../src/resources/https-edge.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { ALL_MODULES } from '../../../src/resources/modules.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { tlsEdge } from '../../../src/resources/tls-edge.ts';

export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

const EDGES = [httpsEdge, tlsEdge] as const;

const row = z.looseObject({ id: z.string(), revision: z.number() });
type Row = z.output<typeof row>;
type Tables = ReadonlyMap<string, readonly Row[]>;

/** Describes each violation in one line. */
export async function brokenInvariants(query: Query): Promise<string[]> {
  const tables = new Map<string, Row[]>();
  for (const { table } of FAMILIES) tables.set(table, z.array(row).parse(await query(`select * from ${table}`)));
  return [
    ...(await changesWithoutEvents(query, tables)),
    ...(await wrongReferences(query, tables)),
    ...(await wrongModules(query, tables)),
    ...(await wrongHostports(query, tables)),
    ...(await wrongKeys(query, tables)),
  ];
}

const rowsOf = (tables: Tables, { table }: Pick<Resource, 'table'>) => tables.get(table) ?? [];
const textsOf = (value: unknown) => z.array(z.string()).parse(value);

const counted = z.object({ id: z.string(), created: z.number(), updated: z.number(), deleted: z.number() });

/** When rules change together, the event of their policy reports them. */
const EVENTS = `
  with told as (
    select resource_id as id, type from events
    union all
    select rule->>'id', 'ip_policy_rule_' || kind.done || '.v0'
      from events, (values ('added', 'created'), ('changed', 'updated'), ('removed', 'deleted')) kind(name, done),
           jsonb_array_elements(payload->'rule_changes'->kind.name->'rules') rule)
  select id, count(*) filter (where type = $1) as created,
         count(*) filter (where type = $2 or type = any($4)) as updated, count(*) filter (where type = $3) as deleted
    from told where type in ($1, $2, $3) or type = any($4) group by 1`;

/** Each change of a single rule adds one revision to its policy. */
const RULE_CHANGES = `
  select payload->'ip_policy'->>'id' as id, count(*) as changes
    from events where type in ($1, $2, $3) group by 1`;

/** Each change of a module adds one revision to its resource. */
const ofModules = (family: Pick<Resource, 'name'>) =>
  ALL_MODULES.filter(({ of }) => of.name === family.name).flatMap((module) =>
    Object.values(eventTypes(moduleSubject(module))),
  );

/** Every change has exactly one event: a resource was created once, and updated as often as its revision says. */
async function changesWithoutEvents(query: Query, tables: Tables): Promise<string[]> {
  const typesOf = ({ name }: Pick<Resource, 'name'>) => Object.values(eventTypes(name));
  const ruleChanges = new Map(
    (await query(RULE_CHANGES, typesOf(ipPolicyRule))).map(({ id, changes }) => [String(id), Number(changes)]),
  );
  const wrong: string[] = [];
  for (const family of FAMILIES) {
    const counts = z.array(counted).parse(await query(EVENTS, [...typesOf(family), ofModules(family)]));
    const left = new Map(counts.map((each) => [each.id, each]));
    for (const { id, revision } of rowsOf(tables, family)) {
      const { created, updated, deleted } = left.get(id) ?? { created: 0, updated: 0, deleted: 0 };
      left.delete(id);
      // A migration created it, and nobody changes it here.
      if (id === FIRST_ACCOUNT) continue;
      const others = family.name === ipPolicy.name ? (ruleChanges.get(id) ?? 0) : 0;
      if (created === 1 && deleted === 0 && revision === 1 + updated + others) continue;
      wrong.push(`${id} at revision ${revision}: ${created} created, ${updated} updated, ${deleted} deleted events`);
    }
    for (const { id, created, deleted } of left.values()) {
      if (created !== 1 || deleted !== 1) wrong.push(`${id}, gone: ${created} created, ${deleted} deleted events`);
    }
  }
  return wrong;
}

/** The reference table matches rows and modules; targets exist, unless they may be deleted while referenced. */
async function wrongReferences(query: Query, tables: Tables): Promise<string[]> {
  const expected = new Set<string>();
  const targets = new Set<string>();
  const refer = (referrer: Pick<Resource, 'name'>, id: string, place: string, target: string) => {
    expected.add(`${referrer.name} ${id} ${place} ${target}`);
    targets.add(target);
  };
  const referAll = (referrer: Pick<Resource, 'name'>, id: string, fields: Fields, values: object, above: string) => {
    for (const [name, { refersTo }] of Object.entries(fields)) {
      const value: unknown = Object.entries(values).find(([member]) => member === name)?.[1];
      if (refersTo) for (const target of idsOf(value)) refer(referrer, id, above + name, target);
    }
  };
  for (const family of FAMILIES) {
    for (const each of rowsOf(tables, family)) referAll(family, each.id, family.fields, each, '');
  }
  for (const { owner_id, id, settings } of await query('select owner_id, id, settings from modules')) {
    const found = ALL_MODULES.find(
      (each) => String(id) === `${owner_id}/${each.name}` && isOf(each.of, String(owner_id)),
    );
    if (found) referAll(found.of, String(owner_id), found.fields, z.looseObject({}).parse(settings), `${found.name}/`);
  }
  const domains = new Map(rowsOf(tables, reservedDomain).map(({ domain, id }) => [domain, id]));
  for (const family of EDGES) {
    for (const { id, hostports } of rowsOf(tables, family)) {
      for (const hostport of textsOf(hostports)) {
        const covering = coveringNames(hostOf(hostport)).find((name) => domains.has(name)) ?? '';
        refer(family, id, 'hostports', domains.get(covering) ?? `nothing that covers ${hostport}`);
      }
    }
  }
  const stored = await query(`select concat_ws(' ', referrer, referrer_id, place, target_id) as line
                                from resource_references`);
  const ids = new Set([...tables.values()].flat().map(({ id }) => id));
  const lasting = FAMILIES.filter(({ deletableWhileReferenced }) => !deletableWhileReferenced);
  const dangling = [...targets].filter((id) => !ids.has(id) && lasting.some((family) => isOf(family, id)));
  return [
    ...difference(
      expected,
      stored.map(({ line }) => String(line)),
      'reference',
    ),
    ...dangling.map((id) => `a reference to ${id}, which is gone`),
  ];
}

const isOf = ({ prefix }: Pick<Resource, 'prefix'>, id: string) => id.startsWith(`${prefix}_`);

async function wrongModules(query: Query, tables: Tables): Promise<string[]> {
  const owners = [...tables.values()].flat().filter((each) => 'modules' in each);
  const expected = owners.flatMap(({ id, modules }) => textsOf(modules).map((name) => `${id}/${name}`));
  const stored = await query('select id from modules');
  return difference(
    expected,
    stored.map(({ id }) => String(id)),
    'module',
  );
}

async function wrongHostports(query: Query, tables: Tables): Promise<string[]> {
  const listening = EDGES.flatMap((family) => rowsOf(tables, family)).flatMap(({ id, hostports }) =>
    textsOf(hostports).map((hostport) => `${hostport} of ${id}`),
  );
  const stored = await query('select hostport, edge_id from edge_hostports');
  return difference(
    listening,
    stored.map(({ hostport, edge_id }) => `${hostport} of ${edge_id}`),
    'hostport',
  );
}

/** An open idempotency key has the status of its response, and the resource of that response exists. */
async function wrongKeys(query: Query, tables: Tables): Promise<string[]> {
  const ids = new Set([...tables.values()].flat().map(({ id }) => id));
  const open = await query('select digest, resource_id, status from idempotency_keys where closed_at is null');
  return open.flatMap(({ digest, resource_id, status }) => {
    // A source is named by its subscription and its type.
    const [id = ''] = String(resource_id).split('/');
    return status !== null && ids.has(id) ? [] : [`the key ${digest} stands for ${resource_id}, with status ${status}`];
  });
}

function difference(expected: Iterable<string>, stored: readonly string[], what: string): string[] {
  const wanted = new Set(expected);
  const found = new Set(stored);
  return [
    ...[...wanted].filter((each) => !found.has(each)).map((each) => `no ${what} ${each}`),
    ...[...found].filter((each) => !wanted.has(each)).map((each) => `a ${what} too many: ${each}`),
  ];
}

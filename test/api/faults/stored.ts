/** What the database holds after a load, and whether the API serves it. */
import { z } from 'zod';
import type { Client } from '../../../src/client/client.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import type { Query } from './invariants.ts';

const row = z.looseObject({ id: z.string(), revision: z.number() });
export type Row = z.output<typeof row>;

export class Stored {
  readonly #tables: ReadonlyMap<string, readonly Row[]>;

  private constructor(tables: ReadonlyMap<string, readonly Row[]>) {
    this.#tables = tables;
  }

  static async read(query: Query): Promise<Stored> {
    const tables = new Map<string, Row[]>();
    for (const { table } of FAMILIES) {
      tables.set(table, z.array(row).parse(await query(`select * from ${table} order by id`)));
    }
    return new Stored(tables);
  }

  /** The resources whose writer has set this mark as their metadata. */
  marked(table: string, mark: string): Row[] {
    return this.rows(table).filter(({ metadata }) => metadata === mark);
  }

  rows(table: string): readonly Row[] {
    return this.#tables.get(table) ?? [];
  }
}

/** The families that the client lists at one address. */
const listed = (client: Client) => ({
  ip_policies: client.ipPolicies,
  ip_policy_rules: client.ipPolicyRules,
  credentials: client.credentials,
  http_response_backends: client.httpResponseBackends,
  reserved_domains: client.reservedDomains,
  https_edges: client.httpsEdges,
  tls_edges: client.tlsEdges,
});

/** The members of a rule that an event of its policy has. */
const RULE = `jsonb_build_object('id', view->'id', 'cidr', view->'cidr', 'action', view->'action')`;
/** Events of modules show the settings, not the names of all modules. */
const WITHOUT_MODULES = `(case when jsonb_typeof(view->'modules') = 'array' then view - 'modules' else view end)`;
const TOLD = `
  select ${WITHOUT_MODULES}::text as payload from (select payload from events) told (view)
  union all select ${RULE}::text from events, jsonb_path_query(payload, '$.rule_changes.*.rules[*]') view
  union all select ${RULE}::text from events, jsonb_path_query(payload, '$ ? (exists(@.cidr))') view`;

/** Checks that every resource is listed, and equals the payload of an event. Returns the violations. */
export async function wronglyServed(client: Client, stored: Stored, query: Query): Promise<string[]> {
  const wrong: string[] = [];
  const payloads = new Set((await query(TOLD)).map(({ payload }) => payload));
  for (const [table, family] of Object.entries(listed(client))) {
    const views = await Array.fromAsync<{ id: string }>(family.list());
    const ids = new Set(views.map(({ id }) => id));
    const missing = stored.rows(table).filter(({ id }) => !ids.has(id));
    wrong.push(...missing.map(({ id }) => `${id} is not listed`));
    if (views.length !== stored.rows(table).length) wrong.push(`${table} lists ${views.length} resources`);
    // Converted by the database, so that members have the same order as in the payloads.
    const text = `select ${table === 'ip_policy_rules' ? RULE : WITHOUT_MODULES}::text as view from jsonb_array_elements($1) view`;
    const untold = (await query(text, [JSON.stringify(views)])).filter(({ view }) => !payloads.has(view));
    wrong.push(...untold.map(({ view }) => `no event has told of ${view}`));
  }
  return wrong;
}

/** The lists that are measured, and their rows. */
import { z } from 'zod';
import { fillTable } from '../../dev/database/fill.ts';
import { credential } from '../../src/resources/credential.ts';
import type { Resource } from '../../src/resources/definition/resource.ts';
import { httpsEdgeRoute } from '../../src/resources/https-edge-route.ts';
import { ipPolicy } from '../../src/resources/ip-policy.ts';
import { BENCH_KEY } from '../keys.ts';

export interface List {
  title: string;
  family: Resource;
  path: string;
  key: string;
  /** The owner or the parent of the list. */
  only: Record<string, string>;
  /** The beginning of metadata, if the list is limited to one. */
  prefix?: string;
}

/** The owners of the rows in a database. */
interface Owners {
  /** Owns about half of the credentials. */
  many: Owner;
  /** Owns the few oldest ones. */
  few: Owner;
  edge: string;
}

interface Owner {
  id: string;
  key: string;
}

const METADATA = 'team-';
const DIGITS = 8;

/** The metadata of the IP policy with this number. */
export const metadataOf = (n: number) => METADATA + String(n).padStart(DIGITS, '0');

/** How many of the oldest rows belong to the owner with few. */
const FEW = 150;

/** The number of the row that a page comes after (`before_id`); undefined for the page of the newest rows. */
export const pagesOf = (rows: number): Record<string, number | undefined> => ({
  first: undefined,
  middle: rows / 2,
  last: FEW + 202,
});

const created = z.object({ id: z.string(), token: z.string().optional() });

/** The owners, made through the API at this address. */
export async function makeOwners(url: string): Promise<Owners> {
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return created.parse(await response.json());
  };
  const owner = async (name: string): Promise<Owner> => {
    const { id } = await post('/users', { name });
    const { token = '' } = await post('/api_keys', { owner_id: id });
    return { id, key: token };
  };
  return { many: await owner('many'), few: await owner('few'), edge: (await post('/edges/https', {})).id };
}

type Query = (text: string) => Promise<{ rows: unknown[] }>;

/** Fills each of the tables. */
export async function fillLists(query: Query, { many, few, edge }: Owners, rows: number): Promise<void> {
  await fillTable(query, ipPolicy, rows, { metadata: `'${METADATA}' || lpad(n::text, ${DIGITS}, '0')` });
  const owner = `case when n <= ${FEW} then '${few.id}' when n % 2 = 0 then '${many.id}' else 'usr_of_another' end`;
  await fillTable(query, credential, rows, { owner_id: owner, acl: "'{*}'" });
  await fillTable(query, httpsEdgeRoute, rows, {
    edge_id: `case when n % 2 = 0 then '${edge}' else 'edghts_of_another' end`,
    match_type: "'path_prefix'",
    match: "'/' || n",
  });
  await query('vacuum analyze');
}

export function listsOf({ many, few, edge }: Owners): List[] {
  const own = ({ id, key }: Owner) => ({ family: credential, path: '/credentials', key, only: { owner_id: id } });
  return [
    { title: 'IP policies', family: ipPolicy, path: '/ip_policies', key: BENCH_KEY, only: {} },
    {
      title: 'IP policies by metadata',
      family: ipPolicy,
      path: '/ip_policies',
      key: BENCH_KEY,
      only: {},
      prefix: METADATA,
    },
    { title: 'own credentials, half of all', ...own(many) },
    { title: `own credentials, the oldest ${FEW}`, ...own(few) },
    {
      title: 'routes of one edge, half of all',
      family: httpsEdgeRoute,
      path: `/edges/https/${edge}/routes`,
      key: BENCH_KEY,
      only: { edge_id: edge },
    },
  ];
}

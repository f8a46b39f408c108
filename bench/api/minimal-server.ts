/**
 * The rival: the least that serves the same families, with Fastify and pg. From each definition it takes the table, the
 * fields and how they show; it has no validation, ETags, idempotency, permissions, logs, metrics, limits or timeouts.
 */
import { hash } from 'node:crypto';
import Fastify, { type FastifyRequest } from 'fastify';
import pg from 'pg';
import { z } from 'zod';
import { newId } from '../../src/resources/definition/id.ts';
import { isShown, type Resource } from '../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { answerQuestions } from '../questions.ts';

type Row = Record<string, unknown>;
interface Route {
  Params: Record<string, string>;
  Body: Row;
}

const PAGE = 100;
const EVENT = ['id', 'type', 'occurred_at', 'actor', 'resource_id', 'payload'];
const AUTHENTICATE = `
  select k.owner_id, coalesce(u.active, b.active) as active, k.expires_at <= now() as expired
    from api_keys k
    left join users u on u.id = k.owner_user_id
    left join bot_users b on b.id = k.owner_bot_id
   where k.token_hash = $1`;

/** Definitions render a time from its text, not from a Date. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number) =>
    oid === pg.types.builtins.TIMESTAMPTZ
      ? (text: string) => new Date(text).toISOString()
      : pg.types.getTypeParser(oid, 'text'),
};
const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: 20, types });
// PostgreSQL closes idle connections at the end of the run; that is not an error.
pool.on('error', () => undefined);
const app = Fastify();
for (const family of FAMILIES) serve(family);
const address = await app.listen({ port: 0, host: '127.0.0.1' });
answerQuestions(address, async () => {
  await app.close();
  await pool.end();
});

function serve({ name, prefix, path, collection, table, fields, parent }: Resource): void {
  const stored = Object.entries(fields).filter(([, { storage }]) => storage !== 'none');
  const shown = Object.entries(fields).filter(([, field]) => isShown(field));
  const columns = ['id', 'created_at', ...stored.map(([field]) => field)];
  const parameters = (count: number, before = 0) => Array.from({ length: count }, (_, n) => `$${before + n + 1}`);
  const listUrl = path.replaceAll(/\{(\w+)\}/g, ':$1');
  const baseOf = ({ host }: FastifyRequest) => `http://${host}`;
  const pathOf = (params: Route['Params']) => path.replaceAll(/\{(\w+)\}/g, (_, parameter) => params[parameter] ?? '');

  const view = (row: Row, base: string, params: Route['Params']) => {
    const uri = `${base}${pathOf(params)}/${row.id}`;
    const answer: Row = { id: row.id, uri, created_at: row.created_at };
    for (const [field, { as = field, show, view }] of shown) {
      const value = row[field] ?? null;
      if (value !== null || !(view instanceof z.ZodOptional)) answer[as] = show ? show(value, { base, uri }) : value;
    }
    return answer;
  };

  const getText = `select ${columns} from ${table} where id = $1`;
  app.get<Route>(`${listUrl}/:id`, async (request, reply) => {
    await authenticate(request);
    const { rows } = await pool.query<Row>({ name: `${table}.get`, text: getText, values: [request.params.id] });
    return rows[0] ? view(rows[0], baseOf(request), request.params) : reply.code(404).send();
  });

  // Fetches one extra row to learn whether there is a next page.
  const newest = `order by id desc limit ${PAGE + 1}`;
  // With `within = $1 order by id desc`, PostgreSQL might scan the newest ids of all parents until this one's page is full.
  const within = parent?.parameter;
  const newestWithin = `where ${within} >= $1 and (${within}, id) < ($1, '~') order by ${within} desc, id desc limit ${PAGE + 1}`;
  const listText = `select ${columns} from ${table} ${within ? newestWithin : newest}`;
  const parentText = parent && `select 1 from ${parent.of.table} where id = $1`;
  app.get<Route>(listUrl, async (request) => {
    await authenticate(request);
    const { params } = request;
    const values = Object.values(params);
    if (parentText) await pool.query({ name: `${table}.parent`, text: parentText, values });
    const { rows } = await pool.query<Row>({ name: `${table}.list`, text: listText, values });
    const uri = baseOf(request) + pathOf(params);
    const page = rows.slice(0, PAGE);
    return {
      [collection]: page.map((row) => view(row, baseOf(request), params)),
      uri,
      next_page_uri: rows.length > PAGE ? `${uri}?before_id=${page.at(-1)?.id}&limit=${PAGE}` : null,
    };
  });

  const insertText = `
    with event as (insert into events (${EVENT}) values (${parameters(EVENT.length)}))
    insert into ${table} (${columns}, updated_at) values (${parameters(columns.length + 1, EVENT.length)})`;
  app.post<Route>(listUrl, async (request, reply) => {
    const actor = await authenticate(request);
    const { params, body } = request;
    const now = new Date().toISOString();
    const row: Row = { id: newId(prefix), created_at: now };
    for (const [field, { initial }] of stored) row[field] = body[field] ?? initial;
    Object.assign(row, params);
    const answer = view(row, baseOf(request), params);
    const written = columns.map((column) =>
      fields[column]?.storage === 'jsonb' && row[column] !== null ? JSON.stringify(row[column]) : row[column],
    );
    const event = [newId('ev'), `${name}_created.v0`, now, actor, row.id, JSON.stringify(answer)];
    const insert = { name: `${table}.insert`, text: insertText, values: [...event, ...written, now] };
    const before = [...lockParent(params), ...referencesOf(row)];
    if (before.length === 0) await pool.query(insert);
    else await inTransaction([...before, insert]);
    return reply.code(201).send(answer);
  });

  /** Locks the parent, so that it cannot be deleted during the create. */
  function lockParent(params: Route['Params']): pg.QueryConfig[] {
    const text = `${parentText} for key share`;
    return parent ? [{ name: `${table}.lock_parent`, text, values: Object.values(params) }] : [];
  }

  /** Locks the referenced rows, so that they cannot be deleted either. */
  function referencesOf(row: Row): pg.QueryConfig[] {
    return stored.flatMap(([field, { refersTo = [] }]) => {
      const ids = [row[field] ?? []].flat().map(String);
      const targets = refersTo.filter((target) => ids.some((id) => id.startsWith(`${target.prefix}_`)));
      return targets.map((target) => ({
        name: `references.${target.table}`,
        text: `
          insert into resource_references (referrer_id, place, referrer, target_id)
          select $1, $2, $3, id from ${target.table} where id = any($4) for key share`,
        values: [row.id, field, name, ids],
      }));
    });
  }
}

/** The id of the caller. */
async function authenticate({ headers }: FastifyRequest): Promise<string> {
  const token = headers.authorization?.slice('Bearer '.length) ?? '';
  const values = [`\\x${hash('sha256', token, 'hex')}`];
  const { rows } = await pool.query<Row>({ name: 'authenticate', text: AUTHENTICATE, values });
  const [caller] = rows;
  if (!caller?.active || caller.expired) throw Object.assign(new Error('unknown key'), { statusCode: 401 });
  return String(caller.owner_id);
}

async function inTransaction(statements: readonly pg.QueryConfig[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    for (const statement of statements) await client.query(statement);
    await client.query('commit');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

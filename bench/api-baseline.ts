/** The least that does the same: the same statements, prepared, and no validation, logs, metrics or ETags. */
import Fastify from 'fastify';
import pg from 'pg';
import { authenticateStatement } from '../src/api/auth.ts';
import { newId } from '../src/resources/id.ts';

const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: 20 });
// An idle connection that PostgreSQL closes at the end of the run is no error.
pool.on('error', () => undefined);
const app = Fastify();
const COLUMNS = 'id, created_at, revision, description, metadata';

interface Row {
  id: string;
  created_at: Date;
  description: string | null;
  metadata: string | null;
}

const view = ({ id, created_at, description, metadata }: Row) => ({
  id,
  uri: `http://localhost/ip_policies/${id}`,
  created_at,
  description,
  metadata,
});

async function authenticate(header = ''): Promise<string> {
  const { rows } = await pool.query(authenticateStatement(header.slice('Bearer '.length)));
  const [key] = rows;
  if (!key?.active || key.expired) throw new Error('unauthenticated');
  return key.owner_id;
}

app.get<{ Params: { id: string } }>('/ip_policies/:id', async (request) => {
  await authenticate(request.headers.authorization);
  const text = `select ${COLUMNS} from ip_policies where id = $1`;
  const { rows } = await pool.query<Row>({ name: 'get', text, values: [request.params.id] });
  return rows.map(view)[0];
});

app.get<{ Querystring: { limit: string } }>('/ip_policies', async (request) => {
  await authenticate(request.headers.authorization);
  const limit = Number(request.query.limit);
  const text = `select ${COLUMNS} from ip_policies order by id desc limit $1`;
  const { rows } = await pool.query<Row>({ name: 'list', text, values: [limit + 1] });
  const next_page_uri = `http://localhost/ip_policies?before_id=${rows[limit - 1]?.id}&limit=${limit}`;
  return { ip_policies: rows.slice(0, limit).map(view), uri: 'http://localhost/ip_policies', next_page_uri };
});

app.post<{ Body: { description: string; metadata: string } }>('/ip_policies', async (request, reply) => {
  const actor = await authenticate(request.headers.authorization);
  const { description, metadata } = request.body;
  const created_at = new Date();
  const shown = view({ id: newId('ipp'), created_at, description, metadata });
  const event = [newId('ev'), 'ip_policy_created.v0', created_at, actor, shown.id, JSON.stringify(shown)];
  await pool.query({
    name: 'insert',
    text: `with event as (insert into events (id, type, occurred_at, actor, resource_id, payload)
             values ($6, $7, $8, $9, $10, $11))
           insert into ip_policies (id, created_at, updated_at, description, metadata) values ($1, $2, $3, $4, $5)`,
    values: [shown.id, created_at, created_at, description, metadata, ...event],
  });
  reply.code(201);
  return shown;
});

process.send?.(await app.listen({ port: 0, host: '127.0.0.1' }));
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.(user + system);
});
process.once('SIGTERM', async () => {
  await app.close();
  await pool.end();
  process.disconnect();
});

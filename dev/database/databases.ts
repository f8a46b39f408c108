/** Databases of a running server, which is identified by a superuser's URL to any of its databases. */
import { Client, escapeIdentifier } from 'pg';

/**
 * Creates a database and returns its URL.
 * @param options.template the database to copy, which must have no open connections.
 */
export async function createDatabase(
  server: string,
  name: string,
  options: { readonly template?: string } = {},
): Promise<string> {
  const template = options.template === undefined ? '' : ` TEMPLATE ${escapeIdentifier(options.template)}`;
  await query(server, `CREATE DATABASE ${escapeIdentifier(name)}${template}`);
  return databaseUrl(server, name);
}

/** Drops a database, even with open connections. It need not exist. */
export async function dropDatabase(server: string, name: string): Promise<void> {
  await query(server, `DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`);
}

/**
 * Creates a template database, once for all processes that ask: the first creates it and calls `prepare` with its URL
 * (for migrations, say; it must close its connections), the others wait. If that fails, the database is dropped again.
 */
export async function ensureTemplate(
  server: string,
  name: string,
  prepare: (url: string) => Promise<void>,
): Promise<void> {
  await withClient(server, async (client) => {
    // Held by the session, so that a process that dies leaves no lock behind.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
    const marked = await client.query('SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate', [name]);
    if (marked.rowCount === 1) return;
    await dropDatabase(server, name);
    await prepare(await createDatabase(server, name));
    // Marked last, so that an unmarked one is known to be unfinished.
    await client.query(`ALTER DATABASE ${escapeIdentifier(name)} IS_TEMPLATE true`);
  });
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function query(server: string, sql: string): Promise<void> {
  await withClient(server, (client) => client.query(sql));
}

/** Runs on the database `postgres`, which is never copied or dropped. */
async function withClient<T>(server: string, action: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: databaseUrl(server, 'postgres'), connectionTimeoutMillis: 5000 });
  await client.connect();
  try {
    return await action(client);
  } finally {
    await client.end();
  }
}

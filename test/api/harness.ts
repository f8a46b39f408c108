/**
 * Runs the API on a database of its own, with callers that hold its keys. Every response is checked against the OpenAPI
 * document before a test gets it.
 */
import type { FastifyInstance } from 'fastify';
import pg from 'pg';
import { pino } from 'pino';
import { z } from 'zod';
import { type AppOptions, buildApp } from '../../src/api/app.ts';
import { bootstrap } from '../../src/api/bootstrap.ts';
import { createSecrets } from '../../src/api/secrets/sealing.ts';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/api/store/database.ts';
import { migrate } from '../../src/api/store/migrate.ts';
import { apiKey } from '../../src/resources/api-key.ts';
import { botUser } from '../../src/resources/bot-user.ts';
import { type ErrorBody, errorBody } from '../../src/resources/definition/errors.ts';
import { user } from '../../src/resources/user.ts';
import { atEnd } from '../end-of-file.ts';
import { createTestDatabase } from '../harness.ts';
import { checkAgainstDocument, checkTakenAgainstDocument } from './openapi/openapi-check.ts';

export const BASE = 'https://tunnels.test';
export const ADMIN_KEY = 'tnl_ak_admin_of_the_tests_0123456789';

/** Seals the secrets of every test API without secrets of its own. */
export const ENCRYPTION_KEY = { id: 'tests', bytes: Buffer.alloc(32, 7) };

/** Tests may block this process, and other processes the machine, for any length of time. */
const NO_LOAD_LIMITS = { eventLoopDelayMs: 0 };
/** Suites over all operations exceed the rate limit of one key; rate-limit.test.ts sets its own limits. */
const NO_RATE_LIMITS = { perKey: 0, perOwner: 0, perAddress: 0 };

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';

export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** The body as sent; empty if there is none. */
  text: string;
  /** The body, if the status is 2xx and the body fits the schema. Fails the test otherwise. */
  as<T extends z.ZodType>(schema: T): z.output<T>;
  /** The body of an error. Fails the test if the response is not an error. */
  readonly error: ErrorBody;
}

export interface Sent {
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls the API with one key. */
export interface Caller {
  /** Id of the user or bot. */
  id: string;
  key: string;
  send(method: Method, path: string, sent?: Sent): Promise<Reply>;
  get(path: string, headers?: Record<string, string>): Promise<Reply>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  put(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  delete(path: string, headers?: Record<string, string>): Promise<Reply>;
}

export interface TestApi {
  app: FastifyInstance;
  db: Database;
  databaseUrl: string;
  admin: Caller;
  /** Without a key. */
  anonymous: Caller;
  /** Lines that the API has logged. */
  logs: string[];
  newUser(fields?: { admin?: boolean }): Promise<Caller>;
  newBot(): Promise<Caller>;
  /** Creates another key of an owner. */
  newKey(owner: string): Promise<Caller>;
  withKey(id: string, key: string): Caller;
  /** Queries the database directly. */
  rows(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

type PoolOptions = Pick<DatabaseOptions, 'poolSize' | 'statementTimeoutMs' | 'connectTimeoutMs'>;

export interface TestApiOptions extends Partial<AppOptions>, Partial<PoolOptions> {
  databaseUrl?: string;
  /** Changes what the API sends to its database. */
  through?: (db: Database) => Database;
}

const SCHEMA = { name: 'template_api', prepare: async (url: string) => void (await migrate(url)) };

/** A database with the schema and nothing in it. */
export function emptyDatabase(): Promise<string> {
  return createTestDatabase(SCHEMA);
}

/** A database of its own, without the API; closed at the end of the test file. */
export async function openTestDatabase(poolSize = 4): Promise<Database> {
  const db = openDatabase({
    url: await emptyDatabase(),
    poolSize,
    statementTimeoutMs: 10_000,
    connectTimeoutMs: 5_000,
  });
  atEnd(() => db.close());
  return db;
}

/** Starts the API in this process. It does not listen: requests are injected, unless a test makes it listen. */
export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const { databaseUrl = await emptyDatabase(), through = (db) => db, ...others } = options;
  const { poolSize = 10, statementTimeoutMs = 10_000, connectTimeoutMs = 5_000, ...app } = others;
  const db = openDatabase({ url: databaseUrl, poolSize, statementTimeoutMs, connectTimeoutMs });
  atEnd(() => db.close());
  await bootstrap(db, ADMIN_KEY, BASE);
  return testApi(through(db), databaseUrl, app);
}

async function testApi(db: Database, databaseUrl: string, options: Partial<AppOptions>): Promise<TestApi> {
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const secrets = createSecrets([ENCRYPTION_KEY]);
  const app = await buildApp({
    db,
    secrets,
    baseUrl: BASE,
    logger,
    loadLimits: NO_LOAD_LIMITS,
    rateLimits: NO_RATE_LIMITS,
    // Tests read a metric right after the event that it counts.
    metricsAgeMs: 0,
    ...options,
  });
  atEnd(() => app.close());

  const withKey = (id: string, key: string) => caller(app, id, key);
  const [admin] = await db.query({ text: 'select id from users where admin', values: [] });
  const api: TestApi = {
    app,
    db,
    databaseUrl,
    logs,
    admin: withKey(String(admin?.id), ADMIN_KEY),
    anonymous: withKey('', ''),
    withKey,
    async newUser({ admin = false } = {}) {
      const { id } = (await api.admin.post('/users', { name: 'a user', admin })).as(user.view);
      return api.newKey(id);
    },
    async newBot() {
      const { id } = (await api.admin.post('/bot_users', { name: 'a bot' })).as(botUser.view);
      return api.newKey(id);
    },
    async newKey(owner_id) {
      const { token } = (await api.admin.post('/api_keys', { owner_id })).as(apiKey.view);
      return withKey(owner_id, z.string().parse(token));
    },
    rows: (text, values = []) => db.query({ text, values }),
  };
  return api;
}

function caller(app: FastifyInstance, id: string, key: string): Caller {
  async function send(method: Method, path: string, { body, headers = {} }: Sent = {}): Promise<Reply> {
    const json = body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body);
    const response = await app.inject({
      method,
      url: path,
      headers: {
        ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: json ? JSON.stringify(body) : body }),
    });
    const got = z.record(z.string(), z.coerce.string()).parse(response.headers);
    if (response.statusCode < 300 && json) checkTakenAgainstDocument(method, path, body);
    return checked(method, path, { status: response.statusCode, headers: got, text: response.payload });
  }
  return {
    id,
    key,
    send,
    get: (path, headers = {}) => send('GET', path, { headers }),
    post: (path, body, headers = {}) => send('POST', path, { body, headers }),
    put: (path, body, headers = {}) => send('PUT', path, { body, headers }),
    patch: (path, body, headers = {}) => send('PATCH', path, { body, headers }),
    delete: (path, headers = {}) => send('DELETE', path, { headers }),
  };
}

function checked(method: Method, path: string, reply: Pick<Reply, 'status' | 'headers' | 'text'>): Reply {
  checkAgainstDocument(method, path, reply);
  return {
    ...reply,
    as(schema) {
      if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${reply.text}`);
      return schema.parse(JSON.parse(reply.text));
    },
    get error() {
      const body = errorBody.parse(JSON.parse(reply.text));
      if (body.status_code !== reply.status) throw new Error(`status ${reply.status} with ${reply.text}`);
      return body;
    },
  };
}

/** A transaction that stays open until it is committed or rolled back. */
export async function heldTransaction(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin');
  return {
    query: (text: string, values: unknown[] = []) => client.query(text, values),
    async commit() {
      await client.query('commit');
      await client.end();
    },
    async rollback() {
      await client.query('rollback');
      await client.end();
    },
  };
}

/** How many deadlocks Postgres has counted in this database. */
export async function deadlocks(api: Pick<TestApi, 'rows'>, poolSize: number): Promise<number> {
  // A backend reports its counts once a second, or at the end of this statement.
  const flush = () => api.rows('select pg_stat_force_next_flush()');
  await Promise.all(Array.from({ length: poolSize }, flush));
  const [row] = await api.rows('select deadlocks from pg_stat_database where datname = current_database()');
  return Number(row?.deadlocks);
}

/** Resolves when at least `count` sessions of this database wait for a lock. */
export async function untilWaiting(api: Pick<TestApi, 'rows'>, count: number): Promise<void> {
  const text = `select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  for (;;) {
    const [row] = await api.rows(text);
    if (Number(row?.waiting) >= count) return;
    await new Promise((turn) => setImmediate(turn));
  }
}

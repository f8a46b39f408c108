/**
 * Breaks the connection to Postgres during one operation, at one point per run, and checks what is stored: the whole
 * change if the commit had arrived, and otherwise nothing.
 */
import { expect } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { atEnd } from '../../end-of-file.ts';
import { emptyDatabase, type Method, type Reply, startTestApi, type TestApi } from '../harness.ts';
import type { Message } from './wire.ts';
import { type CutPoint, WireProxy } from './wire-proxy.ts';

export interface Request {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface Operation {
  readonly name: string;
  /** The statement that commits the change: COMMIT, or a write that is a transaction of its own. */
  readonly commit: RegExp;
  /** Creates what the request needs, distinct from that of earlier runs. */
  prepare(api: TestApi, run: number): Promise<Prepared>;
}

export interface Prepared {
  readonly request: Request;
  /** Checks the response to a retry of the request, given whether the first attempt took effect. */
  repeated(reply: Reply, hadEffect: boolean): Promise<void>;
}

interface Bench {
  /** Connects straight to the database. */
  readonly direct: TestApi;
  /** To the database a second process, with a single connection that goes through the proxy. */
  readonly cut: TestApi;
  readonly proxy: WireProxy;
  runs: number;
}

export async function openBench(): Promise<Bench> {
  const databaseUrl = await emptyDatabase();
  const proxy = await WireProxy.start(databaseUrl);
  atEnd(() => proxy.close());
  const direct = await startTestApi({ databaseUrl });
  const cut = await startTestApi({ databaseUrl: proxy.url, poolSize: 1 });
  // Otherwise the use of the key in a new hour would count as a change.
  await direct.rows("update api_keys set last_used_at = '2999-01-01'");
  return { direct, cut, proxy, runs: 0 };
}

/** Chooses the messages, sent or received by the API, before which the connection is cut. */
export type Choice = (message: Message, index: number, all: readonly Message[]) => boolean;

/** Every message. */
export const EVERYWHERE: Choice = () => true;

/** Twice per statement: before its last message is sent, and before any of the response arrives. */
export const PER_STATEMENT: Choice = ({ sender, type }, index, all) =>
  sender === 'client' ? type === 'Q' || type === 'S' : all[index - 1]?.sender === 'client';

/** Breaks the operation at every chosen point; returns how many there were. */
export async function cutEverywhere(bench: Bench, operation: Operation, choice: Choice): Promise<number> {
  const next = () => operation.prepare(bench.direct, bench.runs++);
  const messages = await record(bench, await next());
  const committed = messages.findIndex(
    ({ sender, statement }) => sender === 'server' && operation.commit.test(statement),
  );
  const points = messages.filter(choice).map((message) => ({
    point: pointOf(messages, message),
    hasEffect: messages.indexOf(message) >= committed,
    said: `${message.sender === 'client' ? 'before' : 'without the answer to'} ${message.type} of ${message.statement}`,
  }));
  for (const { point, hasEffect, said } of points) {
    await cutAt(bench, await next(), point, hasEffect).catch((error: unknown) => {
      throw new Error(`${operation.name}, cut ${said}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    });
  }
  return points.length;
}

/** The point at which `message` is the first one that does not arrive. */
function pointOf(messages: readonly Message[], message: Message): CutPoint {
  const { sender } = message;
  return { sender, index: messages.filter((each) => each.sender === sender).indexOf(message) };
}

/** The messages of the operation when nothing goes wrong. */
async function record(bench: Bench, { request }: Prepared): Promise<Message[]> {
  await freshConnection(bench);
  bench.proxy.watch();
  const reply = await send(bench.cut, request);
  const messages = bench.proxy.unwatch();
  expect(reply.status).toBeLessThan(300);
  return messages;
}

async function cutAt(bench: Bench, prepared: Prepared, point: CutPoint, hasEffect: boolean): Promise<void> {
  const { direct, cut, proxy } = bench;
  await freshConnection(bench);
  const before = await fingerprint(direct);
  proxy.watch(point);
  const cutsBefore = proxy.cuts;
  unavailable(await send(cut, prepared.request));
  expect(proxy.cuts).toBe(cutsBefore + 1);
  const changed = (await fingerprint(direct)) !== before;
  expect(changed, hasEffect ? 'the change is there' : 'nothing of the change is there').toBe(hasEffect);
  expect((await cut.anonymous.get('/readyz')).status).toBe(200);
  await prepared.repeated(await send(direct, prepared.request), hasEffect);
}

const send = (api: TestApi, { method, path, ...sent }: Request) => api.admin.send(method, path, sent);

export function unavailable(reply: Reply): void {
  expect(reply.error).toMatchObject({ error_code: 'UNAVAILABLE', status_code: 503 });
  expect(reply.headers['retry-after']).toBe('1');
}

/** Opens a connection without prepared statements, so that every run sends the same messages. */
async function freshConnection({ cut, proxy }: Bench): Promise<void> {
  proxy.cutAll();
  await waitFor('the pool to drop its connections', () => cut.db.usage().total === 0, { intervalMs: 2 });
  expect((await cut.anonymous.get('/readyz')).status).toBe(200);
}

/** A hash of all rows of all tables. */
async function fingerprint(api: TestApi): Promise<string> {
  const tables = await api.rows("select tablename from pg_tables where schemaname = 'public'");
  const each = tables.map(({ tablename: name }) => `select '${name}' as name, t::text as line from ${name} t`);
  const text = `select md5(string_agg(name || line, e'\\n' order by name, line)) as hash from (${each.join(' union all ')}) all_rows`;
  return String((await api.rows(text))[0]?.hash);
}

/**
 * `npm run bench -- events`: how quickly events reach a receiver that answers at once. Deliveries a second are set against
 * a bare loop of signed posts; the time from a change to its delivery, against the same without 100,000 deliveries
 * that wait for a destination that does not answer; and what one statement takes with 1,000,000 waiting.
 */
import { IN_FLIGHT } from '../../src/api/events/delivery/destination-worker.ts';
import { type Pump, startPump } from '../../src/api/events/delivery/pump.ts';
import { type Courier, createCourier } from '../../src/api/events/wire/courier.ts';
import { type Database, openDatabase } from '../../src/api/store/database.ts';
import type { Statement } from '../../src/api/store/statement.ts';
import type { BenchOptions } from '../options.ts';
import { median } from '../rounds.ts';
import { startStage } from '../stage.ts';
import { tableHead, tableRow } from '../table.ts';
import { HOST, type Receiver, startReceiver } from './receiver.ts';
import { addDestination, change, fill } from './rows.ts';
import { signedPosts } from './signed-posts.ts';
import { benchWrites } from './writes.ts';

const EVENTS = 10_000;
const WAITING = 100_000;
const MANY = 1_000_000;
const ROUNDS = 5;
const CHANGES = 2_000;
const CHANGES_PER_SECOND = 200;
const SECRET = Buffer.alloc(32, 1);
/** Answers at once. */
const LIVE = 'ed_live';
/** Never answers. */
const DEAD = 'ed_dead';

interface Bench {
  db: Database;
  courier: Courier;
  receiver: Receiver;
  out: (line: string) => void;
  rounds: number;
}

export async function benchEvents({ out, rounds = ROUNDS }: BenchOptions): Promise<void> {
  const stage = await startStage();
  const receiver = await startReceiver();
  const db = openDatabase({ url: stage.url, poolSize: 10, statementTimeoutMs: 600_000, connectTimeoutMs: 5_000 });
  const courier = createCourier({ source: 'urn:bench', allowNetworks: [HOST], httpHosts: [HOST] });
  const undo = [stage.stop, () => db.close(), () => courier.close(), receiver.stop];
  const bench = { db, courier, receiver, out, rounds };
  try {
    for (const id of [LIVE, DEAD]) await addDestination(db, id);
    const bare = await bareLoop(bench);
    await rate(bench, 'events', bare);
    await delay(bench, '');
    await fill(db, DEAD, WAITING);
    await rate(bench, `events, ${WAITING} waiting for another destination`, bare);
    await delay(bench, `, ${WAITING} waiting for another destination`);
    await claims(bench);
    await benchWrites(stage, { out, rounds: rounds * 2 });
    out('');
  } finally {
    for (const step of undo.toReversed()) await step();
  }
}

async function bareLoop({ receiver, out, rounds }: Bench): Promise<number> {
  out(`${EVENTS} events to one receiver, ${IN_FLIGHT} at a time; ${rounds} rounds`);
  out('');
  out(tableHead(['', 'deliveries/s', 'ratio']));
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) rates.push(await signedPosts(receiver.url, EVENTS, IN_FLIGHT, SECRET));
  out(tableRow(['bare loop', median(rates).toFixed(0), '1.00']));
  return median(rates);
}

async function rate(bench: Bench, title: string, bare: number): Promise<void> {
  const rates: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    await fill(bench.db, LIVE, EVENTS);
    rates.push(await deliver(bench, bench.db));
  }
  bench.out(tableRow([title, median(rates).toFixed(0), (median(rates) / bare).toFixed(2)]));
}

/** Delivers what is due. Returns deliveries a second. */
async function deliver(bench: Bench, db: Database): Promise<number> {
  const done = bench.receiver.expect(EVENTS);
  const startedAt = performance.now();
  const pump = start(bench, db);
  await done;
  const seconds = (performance.now() - startedAt) / 1000;
  await pump.stop();
  return EVENTS / seconds;
}

/** Prints the time from the commit of a change to the arrival of its event, at a steady rate of changes. */
async function delay({ db, ...bench }: Bench, suffix: string): Promise<void> {
  const pump = start({ db, ...bench }, db);
  const done = bench.receiver.expect(CHANGES);
  const committed = new Map<string, number>();
  const startedAt = performance.now();
  for (let n = 0; n < CHANGES; n++) {
    const dueAt = startedAt + (n * 1000) / CHANGES_PER_SECOND;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueAt - performance.now())));
    const id = `ev_change_${n}${suffix}`;
    await change(db, id, LIVE);
    committed.set(id, performance.now());
    pump.wake();
  }
  await done;
  await pump.stop();
  const times = [...committed].map(([id, at]) => (bench.receiver.arrivals.get(id) ?? Number.NaN) - at);
  bench.out(tableRow([`ms from change to delivery${suffix}`, quantiles(times), '']));
}

/** Prints what the statements of the delivery take while very much waits for the destination itself. */
async function claims(bench: Bench): Promise<void> {
  await fill(bench.db, LIVE, MANY);
  const before = process.memoryUsage().rss;
  const times = new Map<string, number[]>();
  const timed = (query: Database['query']) => async (statement: Statement) => {
    const startedAt = performance.now();
    const rows = await query(statement);
    const name = statement.name ?? statement.text;
    times.set(name, [...(times.get(name) ?? []), performance.now() - startedAt]);
    return rows;
  };
  const { db } = bench;
  const observed: Database = {
    ...db,
    query: timed(db.query),
    transaction: (work) => db.transaction((tx) => work({ query: timed((statement) => tx.query(statement)) })),
  };
  const rateOf = await deliver(bench, observed);
  bench.out(tableRow([`events, ${MANY} waiting for the same destination`, rateOf.toFixed(0), '']));
  for (const [name, taken] of times)
    bench.out(tableRow([`ms of ${name}, ${taken.length} times`, quantiles(taken), '']));
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  bench.out(tableRow(['MiB more memory meanwhile', grown.toFixed(0), '']));
}

function quantiles(values: number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}`;
}

/** A pump that delivers to the receiver; the dead destination hangs until its attempt is aborted. */
function start({ courier, receiver }: Bench, db: Database): Pump {
  return startPump({
    db,
    courier: {
      ...courier,
      deliver: (to, event, signal) => (to.id === LIVE ? courier.deliver(to, event, signal) : hang(signal)),
    },
    open: async (id) => ({
      id,
      format: 'json',
      target: { webhook: { url: receiver.url } },
      secrets: [`whsec_${SECRET.toString('base64')}`],
    }),
    pause: async () => {},
    holder: 'bench',
    onError: (error) => {
      throw error;
    },
  });
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

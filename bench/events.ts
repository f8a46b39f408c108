/**
 * `npm run bench -- events`: deliveries a second to one receiver that answers at once, set against a bare loop that signs
 * and posts as many bodies, as many at a time; then the same while 100,000 deliveries wait for a destination that
 * does not answer.
 */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { IN_FLIGHT } from '../src/api/events/delivery/destination-worker.ts';
import { startPump } from '../src/api/events/delivery/pump.ts';
import { type Courier, createCourier } from '../src/api/events/wire/courier.ts';
import { type Database, openDatabase } from '../src/api/store/database.ts';
import type { BenchOptions } from './options.ts';
import { median } from './rounds.ts';
import { startStage } from './stage.ts';
import { tableHead, tableRow } from './table.ts';

const EVENTS = 10_000;
const WAITING = 100_000;
const ROUNDS = 5;
const SECRET = Buffer.alloc(32, 1);
const HOST = '127.0.0.1';

export async function benchEvents({ out, rounds = ROUNDS }: BenchOptions): Promise<void> {
  const stage = await startStage();
  const receiver = await startReceiver();
  const db = openDatabase({ url: stage.url, poolSize: 10, statementTimeoutMs: 60_000, connectTimeoutMs: 5_000 });
  const courier = createCourier({ source: 'urn:bench', allowNetworks: [HOST], httpHosts: [HOST] });
  const undo = [stage.stop, () => db.close(), () => courier.close(), receiver.stop];
  try {
    await prepare(db);
    out(`${EVENTS} events to one receiver, ${IN_FLIGHT} at a time; ${rounds} rounds`);
    out('');
    out(tableHead(['', 'deliveries/s', 'ratio']));
    const bare: number[] = [];
    for (const waiting of [0, WAITING]) {
      if (waiting > 0) await fill(db, 'ed_dead', waiting);
      const rates: number[] = [];
      for (let round = 0; round < rounds; round++) {
        if (waiting === 0) bare.push(await bareLoop(receiver.url));
        rates.push(await pumped(db, courier, receiver));
      }
      if (waiting === 0) out(tableRow(['bare loop', median(bare).toFixed(0), '1.00']));
      const title = waiting === 0 ? 'events' : `events, ${waiting} waiting for another destination`;
      out(tableRow([title, median(rates).toFixed(0), (median(rates) / median(bare)).toFixed(2)]));
    }
    out('');
  } finally {
    for (const step of undo.toReversed()) await step();
  }
}

const payload = JSON.stringify({ id: 'ipp_bench', uri: '/ip_policies/ipp_bench', description: 'x'.repeat(200) });

async function prepare(db: Database): Promise<void> {
  for (const id of ['ed_dead', 'ed_live']) {
    await db.query({
      text: `insert into event_destinations (id, format, target, sealed_signing_secret, created_at, updated_at)
             values ($1, 'json', '{}', '', now(), now())`,
      values: [id],
    });
    await db.query({
      text: `insert into event_subscriptions (id, sources, destination_ids, created_at, updated_at)
             values ($1, '{ip_policy_created.v0}', array[$2], now(), now())`,
      values: [`esb_${id}`, id],
    });
  }
}

/** As the fan-out would, of events of as many resources. */
async function fill(db: Database, destination: string, count: number): Promise<void> {
  const values = [destination, count, payload];
  await db.query({
    text: `
      with numbers as (select n, gen_random_uuid()::text as id from generate_series(1, $2::integer) n),
      event as (
        insert into events (id, type, occurred_at, actor, resource_id, payload)
        select 'ev_' || id, 'ip_policy_created.v0', now(), 'usr_bench', 'ipp_' || id, $3::jsonb from numbers),
      delivery as (
        insert into event_deliveries (id, created_at, destination_id, subscription_ids, event_id, seq, type, resource_id)
        select 'evd_' || id, now(), $1, array['esb_' || $1], 'ev_' || id, n, 'ip_policy_created.v0', 'ipp_' || id from numbers)
      insert into event_streams (destination_id, resource_id, pending, next_at)
      select $1, 'ipp_' || id, 1, now() from numbers`,
    values,
  });
  await db.query({ text: 'analyze event_streams, event_deliveries, events', values: [] });
}

interface Receiver {
  readonly url: string;
  /** Resolves when that many more have arrived. */
  expect(count: number): Promise<void>;
  stop(): Promise<void>;
}

async function startReceiver(): Promise<Receiver> {
  let left = Number.POSITIVE_INFINITY;
  let arrived = () => {};
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(204).end();
      if (--left === 0) arrived();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, HOST, resolve));
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/`,
    expect(count) {
      left = count;
      return new Promise((resolve) => {
        arrived = resolve;
      });
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Deliveries a second. The dead destination never answers. */
async function pumped(db: Database, courier: Courier, receiver: Receiver): Promise<number> {
  await fill(db, 'ed_live', EVENTS);
  const done = receiver.expect(EVENTS);
  const startedAt = performance.now();
  const pump = startPump({
    db,
    courier: {
      ...courier,
      deliver: (to, event, signal) => (to.id === 'ed_live' ? courier.deliver(to, event, signal) : hang(signal)),
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
  await done;
  const seconds = (performance.now() - startedAt) / 1000;
  await pump.stop();
  return EVENTS / seconds;
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

async function bareLoop(url: string): Promise<number> {
  const agent = new Agent({ connections: IN_FLIGHT });
  const startedAt = performance.now();
  let left = EVENTS;
  const body = JSON.stringify({ specversion: '1.0', id: 'ev_bench', data: JSON.parse(payload) });
  const post = async () => {
    while (left-- > 0) {
      const timestamp = Math.floor(Date.now() / 1000);
      const signature = createHmac('sha256', SECRET).update(`ev_bench.${timestamp}.${body}`).digest('base64');
      const headers = {
        'content-type': 'application/cloudevents+json',
        'webhook-id': 'ev_bench',
        'webhook-timestamp': String(timestamp),
        'webhook-signature': `v1,${signature}`,
      };
      const { origin, pathname } = new URL(url);
      const answer = await agent.request({ origin, path: pathname, method: 'POST', headers, body });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, post));
  const seconds = (performance.now() - startedAt) / 1000;
  await agent.close();
  return EVENTS / seconds;
}

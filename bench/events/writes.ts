/** What events cost the changes that they are about: creates, without a subscription and with many. Nothing is delivered. */
import { ipPolicy } from '../../src/resources/ip-policy.ts';
import { BENCH_KEY } from '../keys.ts';
import type { BenchOptions } from '../options.ts';
import { byTurns, ratioOf } from '../rounds.ts';
import type { Stage } from '../stage.ts';
import { tableRow } from '../table.ts';
import { TYPE } from './rows.ts';

const SUBSCRIPTIONS = 100;
const DESTINATIONS = 20;
const ROUND_MS = 2_000;
/** Before that, much of the time goes into compiling. */
const WARM_UP_MS = 8_000;

const { path, samples } = ipPolicy;
const create = { key: BENCH_KEY, connections: 32, method: 'POST', path, body: JSON.stringify(samples.full) };

export async function benchWrites({ processes, empty }: Stage, { out, rounds = 1 }: BenchOptions): Promise<void> {
  const start = async (name: string) =>
    processes.serve('api-process.ts', { BENCH_DATABASE_URL: await empty(name), BENCH_EVENT_DELIVERY: 'false' });
  const [plain, subscribed] = [await start('plain'), await start('subscribed')];
  await subscribe(subscribed.url);
  for (const { url } of [plain, subscribed]) await processes.load({ ...create, url, ms: WARM_UP_MS });
  const turns = [plain, subscribed].map((server) => ({ server, order: create }));
  const [alone, queued] = await byTurns(processes, turns, { rounds, roundMs: ROUND_MS });
  if (!alone || !queued) return;
  out(tableRow(['creates/s, no subscription', alone.rate.toFixed(0), '1.00']));
  const title = `creates/s, ${SUBSCRIPTIONS} subscriptions on ${DESTINATIONS} destinations`;
  out(tableRow([title, queued.rate.toFixed(0), ratioOf(queued, alone).toFixed(2)]));
}

async function subscribe(url: string): Promise<void> {
  const post = async (to: string, body: object): Promise<string> => {
    const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' };
    const answer = await fetch(url + to, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
    return String(Object(await answer.json()).id);
  };
  const target = { webhook: { url: 'https://hooks.example.com/bench' } };
  const destinations: string[] = [];
  for (let n = 0; n < DESTINATIONS; n++) destinations.push(await post('/event_destinations', { target }));
  for (let n = 0; n < SUBSCRIPTIONS; n++)
    await post('/event_subscriptions', {
      sources: [{ type: TYPE }],
      destination_ids: [destinations[n % DESTINATIONS]],
    });
}

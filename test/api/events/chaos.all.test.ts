/**
 * One of two API processes is killed every second while twenty writers make changes. The table of events says what was
 * committed: each receiver must get exactly the events of its types, those of one resource in order. CHAOS_SEED repeats
 * the choices of a run, CHAOS_SECONDS sets its length; the deep tier (chaos.deep.test.ts) runs for ten minutes.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Random, randomFrom } from '../../../dev/fixtures/random.ts';
import { openDatabase } from '../../../src/api/store/database.ts';
import { atEnd } from '../../end-of-file.ts';
import { isDeep } from '../../tier.ts';
import { ApiProcess, removeFolder } from '../faults/api-process.ts';
import { emptyDatabase } from '../harness.ts';
import { type ChaosReceiver, startReceiver } from './chaos-receiver.ts';

const SEED = Number(process.env.CHAOS_SEED ?? (isDeep ? Math.floor(Math.random() * 2 ** 31) : 1));
const SECONDS = Number(process.env.CHAOS_SECONDS ?? (isDeep ? 600 : 60));
const WRITERS = 20;
const API_KEY = 'tnl_ak_of_the_writers_0123456789012345';

const ENV = { LOG_LEVEL: 'warn', EVENT_ALLOW_NETWORKS: '127.0.0.0/8', EVENT_HTTP_HOSTS: '127.0.0.1', RATE_LIMIT: '0' };

const databaseUrl = await emptyDatabase();
const db = openDatabase({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 20_000, connectTimeoutMs: 5_000 });
atEnd(() => db.close());
const query = (text: string, values: unknown[] = []) => db.query({ text, values });

test(`each receiver gets exactly what was committed, in order, while processes are killed (seed ${SEED})`, {
  timeout: (SECONDS + 240) * 1000,
}, async ({ annotate }) => {
  const random = randomFrom(SEED);
  const processes = [await startProcess('one'), await startProcess('two')];
  let isOver = false;
  const flaky = await startReceiver(() => (!isOver && random.below(2) === 0 ? 500 : 204));
  const fine = await startReceiver(() => 200);
  const slow = await startReceiver(() => sleep(9_000, 200));
  const [api] = processes;
  if (!api) throw new Error('no process');
  await subscribe(api, fine, ['ip_policy_created.v0', 'ip_policy_updated.v0', 'ip_policy_deleted.v0']);
  await subscribe(api, flaky, ['ip_policy_updated.v0']);
  await subscribe(api, slow, ['bot_user_created.v0']);

  const writing = Array.from({ length: WRITERS }, () =>
    write(processes, randomFrom(random.below(2 ** 31)), () => isOver),
  );
  const kills = await killOneEverySecond(processes, SECONDS);
  isOver = true;
  await Promise.all(writing);

  // Waiting for the retries would take hours.
  const kick = () => query('update event_streams set next_at = now() where next_at > now()');
  const pending = async () => {
    await kick();
    const [row] = await query(
      'select (select count(*) from event_queue) + (select count(*) from event_streams) as left',
    );
    return row?.left;
  };
  await expect.poll(pending, { timeout: 180_000, interval: 1_000 }).toBe(0);
  for (const [receiver, types] of [
    [fine, ['ip_policy_created.v0', 'ip_policy_updated.v0', 'ip_policy_deleted.v0']],
    [flaky, ['ip_policy_updated.v0']],
    [slow, ['bot_user_created.v0']],
  ] as const) {
    const committed = await query('select id from events where type = any($1) order by id', [types]);
    expect(receiver.invalid).toEqual([]);
    expect(committed).not.toEqual([]);
    expect([...new Set(receiver.arrivals.map(({ id }) => id))].toSorted()).toEqual(committed.map(({ id }) => id));
    expect(outOfOrder(receiver)).toEqual([]);
  }
  const states = await query('select state, count(*)::integer as count from event_deliveries group by 1 order by 1');
  expect(states.map(({ state }) => state)).toEqual(['delivered']);
  const repeated = fine.arrivals.length - new Set(fine.arrivals.map(({ id }) => id)).size;
  await annotate(JSON.stringify({ kills, states, repeated }));
});

async function startProcess(name: string): Promise<ApiProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-chaos-'));
  atEnd(removeFolder(folder));
  const api = await ApiProcess.start({ folder, name, databaseUrl, apiKey: API_KEY, env: ENV });
  atEnd(() => api.stop());
  return api;
}

async function subscribe({ client }: ApiProcess, receiver: ChaosReceiver, types: readonly string[]): Promise<void> {
  const target = { webhook: { url: receiver.url } };
  const { id, signing_secret } = await client.eventDestinations.create({ target });
  receiver.secret = signing_secret ?? '';
  await client.eventSubscriptions.create({ sources: types.map((type) => ({ type })), destination_ids: [id] });
}

/** Creates, changes and deletes policies, now and then a bot; some requests are refused, some fail with a process. */
async function write(processes: readonly ApiProcess[], random: Random, isOver: () => boolean): Promise<void> {
  const policies: string[] = [];
  while (!isOver()) {
    const { client } = random.oneOf(processes);
    try {
      const choice = random.below(200);
      const id = policies.length > 0 ? random.oneOf(policies) : undefined;
      if (choice === 0) await client.botUsers.create({ name: 'a bot' });
      else if (id === undefined || choice < 40) policies.push((await client.ipPolicies.create({})).id);
      else if (choice < 60) await client.ipPolicies.delete(id).then(() => policies.splice(policies.indexOf(id), 1));
      else if (choice < 70) await client.ipPolicies.update(id, { description: 'x'.repeat(256) });
      else await client.ipPolicies.update(id, { description: String(random.below(2 ** 31)) });
    } catch {
      // Refused, or the process was killed: the table of events says whether it was committed.
    }
    await sleep(random.below(200));
  }
}

/** Returns the number of kills. All processes run at the end. */
async function killOneEverySecond(processes: readonly ApiProcess[], seconds: number): Promise<number> {
  const restarts: Promise<void>[] = [];
  let kills = 0;
  for (let second = 0; second < seconds; second++) {
    await sleep(1_000);
    const process = processes[second % processes.length];
    if (!process?.isServing) continue;
    kills++;
    await process.kill();
    restarts.push(process.start());
  }
  await Promise.all(restarts);
  return kills;
}

/** Events whose first arrival comes after that of a later event of the same resource. */
function outOfOrder({ arrivals }: ChaosReceiver): string[] {
  const seen = new Set<string>();
  const last = new Map<string, string>();
  return arrivals.flatMap(({ id, subject, sequence }) => {
    if (seen.has(id)) return [];
    seen.add(id);
    const isLate = sequence < (last.get(subject) ?? '');
    if (!isLate) last.set(subject, sequence);
    return isLate ? [id] : [];
  });
}

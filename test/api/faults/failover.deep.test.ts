/** FAILOVERS says how many there are, LOAD_SEED repeats the choices (not the timing). */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Postgres } from '../../../dev/database/postgres.ts';
import {
  freeze,
  promote,
  replicateSynchronously,
  startStandby,
  untilCommitsWait,
} from '../../../dev/database/standby.ts';
import { type Random, randomFrom } from '../../../dev/fixtures/random.ts';
import { atEnd } from '../harness.ts';
import { databaseOn, openFailoverStage } from './failover-stage.ts';
import type { Load } from './load.ts';
import { expectNothingLostOrDoubled, WRITERS } from './load-stage.ts';

const SEED = Number(process.env.LOAD_SEED ?? Math.floor(Math.random() * 2 ** 31));
const FAILOVERS = Number(process.env.FAILOVERS ?? 12);

interface Pair {
  readonly primary: Postgres;
  readonly standby: Postgres;
  readonly load: Load;
}

/** How a primary is lost, and its standby promoted. Returns with the old primary as it may be found then. */
const losses = {
  async 'is killed'({ primary, standby }) {
    await primary.crash();
    await promote(standby);
  },
  async 'is killed while nobody is promoted for a while'({ primary, standby, load }) {
    await primary.crash();
    await load.refusals(10);
    await promote(standby);
  },
  async 'is shut down'({ primary, standby }) {
    await primary.shutDown();
    await promote(standby);
  },
  async 'is alive when its standby is promoted, which fences it'({ primary, standby }) {
    await promote(standby);
    await primary.crash();
  },
  async 'hangs, and comes back as if nothing had happened'({ primary, standby, load }) {
    const { thaw } = await freeze(primary);
    await load.refusals(3);
    await promote(standby);
    await load.progress(20);
    await thaw();
    await untilCommitsWait(primary);
    // Both take connections; whoever wrote to the old one would get no answer.
    await load.progress(20);
  },
  async 'is killed after a time without its standby'({ primary, standby, load }) {
    await standby.crash();
    // What is committed now must not be acknowledged: the standby will never have it.
    await load.refusals(8);
    await primary.crash();
    await standby.restart();
    await promote(standby);
  },
} satisfies Record<string, (pair: Pair) => Promise<void>>;

async function pause(random: Random): Promise<void> {
  await delay(random.below(300));
}

test(`${WRITERS} writers on two processes lose and double nothing over ${FAILOVERS} failovers (seed ${SEED})`, {
  timeout: 1_200_000,
}, async ({ annotate }) => {
  const random = randomFrom(SEED);
  const stage = await openFailoverStage(SEED);
  const { load, processes } = stage;
  const pids = processes.map(({ pid }) => pid);
  let [primary, standby] = stage.servers;
  const done: Record<string, number> = {};
  for (let n = 0; n < FAILOVERS; n++) {
    // Each once before any twice.
    const names = Object.entries(losses);
    const [name, lose] = names[n] ?? random.oneOf(names);
    done[name] = (done[name] ?? 0) + 1;
    await load.progress(20);
    await pause(random);
    await lose({ primary, standby, load });
    await load.progress(20);
    expect(load.violations, name).toEqual([]);
    // The old primary joins again at its old address, with a copy of what there is now.
    const { port } = new URL(primary.url);
    await primary.stop();
    const rebuilt = await startStandby(standby, { port: Number(port) });
    atEnd(() => rebuilt.stop());
    await replicateSynchronously(standby);
    [primary, standby] = [standby, rebuilt];
  }
  await load.progress(20);
  await expectNothingLostOrDoubled({ ...stage, databaseUrl: databaseOn(primary) });
  expect(processes.map(({ pid }) => pid)).toEqual(pids);
  await annotate(JSON.stringify({ ...load.counts, things: load.tracked.length, ...done }));
});

/** The primary dies under load and its standby takes over; failover.deep.test.ts goes on from there. */
import { expect, test } from 'vitest';
import { promote } from '../../../dev/database/standby.ts';
import { databaseOn, openFailoverStage } from './failover-stage.ts';
import { expectNothingLostOrDoubled, WRITERS } from './load-stage.ts';

test(`${WRITERS} writers on two processes lose no acknowledged write when a standby takes over, and need no restart`, {
  timeout: 240_000,
}, async ({ annotate }) => {
  const stage = await openFailoverStage(1);
  const { servers, processes, load } = stage;
  const pids = processes.map(({ pid }) => pid);
  const [primary, standby] = servers;
  await load.progress(50);
  await primary.crash();
  // The other one is there, and is no primary yet.
  await load.refusals(5);
  await promote(standby);
  await load.progress(50);
  await expectNothingLostOrDoubled({ ...stage, databaseUrl: databaseOn(standby) });
  expect(processes.map(({ pid }) => pid)).toEqual(pids);
  await annotate(JSON.stringify({ ...load.counts, things: load.tracked.length }));
});

/** One address leads to the primary, as a -rw Service does. The primary dies under load, and its standby takes over. */
import { expect, test } from 'vitest';
import { createDatabase } from '../../../dev/database/databases.ts';
import { startPostgres } from '../../../dev/database/postgres.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { atEnd } from '../../end-of-file.ts';
import { DATABASE, expectNothingLostOrDoubled, startLoad, startProcess, WRITERS } from './load-stage.ts';
import { promote, replicateSynchronously, startStandby } from './standby.ts';
import { WireProxy } from './wire-proxy.ts';

test(`${WRITERS} writers on two processes lose no acknowledged write when a standby takes over, without a restart`, {
  timeout: 240_000,
}, async ({ annotate }) => {
  const primary = await startPostgres();
  atEnd(() => primary.stop());
  const onPrimary = await createDatabase(primary.url, DATABASE);
  await migrate(onPrimary);
  const standby = await startStandby(primary);
  atEnd(() => standby.stop());
  await replicateSynchronously(primary);
  const service = await WireProxy.start(onPrimary);
  atEnd(() => service.close());
  const processes = [await startProcess('first', service.url), await startProcess('second', service.url)];
  const pids = processes.map(({ pid }) => pid);
  const load = startLoad(processes, 1);
  await load.progress(50);
  await primary.crash();
  await load.refusals(5);
  await promote(standby);
  service.leadTo(standby.url);
  await load.progress(50);
  await expectNothingLostOrDoubled({ load, processes, databaseUrl: service.url });
  expect(processes.map(({ pid }) => pid)).toEqual(pids);
  await annotate(JSON.stringify({ ...load.counts, things: load.tracked.length }));
});

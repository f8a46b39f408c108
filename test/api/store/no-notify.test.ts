/**
 * No write notifies. A transaction that has executed NOTIFY takes a lock at its commit that is one for all databases of a
 * server, so writes would take turns (docs/decisions/0028-event-delivery.md). Here, another session keeps that lock.
 */
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createDatabase } from '../../../dev/database/databases.ts';
import { startPostgres } from '../../../dev/database/postgres.ts';
import { sampleValues } from '../../../dev/fixtures/sample-values.ts';
import { createSample } from '../../../dev/fixtures/samples.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import { fanOut } from '../../../src/api/events/queue/fan-out.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { atEnd } from '../../end-of-file.ts';
import { startTestApi } from '../harness.ts';

const withId = z.looseObject({ id: z.string() });

/** Connects as the superuser. */
async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  atEnd(() => client.end());
  return client;
}

/** A session whose commit waits with the lock, for a standby that does not exist. */
async function notifyForever(url: string): Promise<void> {
  const [watching, notifying] = [await connect(url), await connect(url)];
  await notifying.query('create table noticed ()');
  await watching.query("alter system set synchronous_standby_names = 'nobody'");
  await watching.query('select pg_reload_conf()');
  notifying.on('error', () => undefined);
  let isWaiting = false;
  // The setting takes effect when another process has read it. A commit waits only if it has written something.
  await waitFor('the commit to wait', async () => {
    const again = () => {
      isWaiting = false;
    };
    if (!isWaiting) notifying.query('insert into noticed default values; notify everybody').then(again, again);
    isWaiting = true;
    const { rowCount } = await watching.query("select from pg_stat_activity where wait_event = 'SyncRep'");
    return rowCount === 1;
  });
  atEnd(() => watching.query("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"));
}

test('every write goes on while another session holds the lock of NOTIFY', async () => {
  const server = await startPostgres();
  atEnd(() => server.stop());
  const databaseUrl = await createDatabase(server.url, 'quiet');
  await (await connect(server.url)).query('alter database quiet set synchronous_commit = local');
  await migrate(databaseUrl);
  const { admin, rows, db } = await startTestApi({ databaseUrl, statementTimeoutMs: 5_000 });
  await notifyForever(server.url);

  const values = await sampleValues();
  const types = z.object({ event_types: z.array(z.object({ type: z.string() })) });
  const { event_types } = (await admin.get('/event_types')).as(types);
  const destination = (await admin.post('/event_destinations', { target: { webhook: { url: 'https://a.test' } } })).as(
    withId,
  );
  const sources = event_types.map(({ type }) => ({ type }));
  await admin.post('/event_subscriptions', { sources, destination_ids: [destination.id] });
  for (const [index, family] of FAMILIES.entries()) {
    const made: string[] = [];
    const post = async (path: string, body: object) => {
      const resource = (await admin.post(path, body)).as(withId);
      made.push(`${path}/${resource.id}`);
      return resource;
    };
    await createSample(post, family, 'full', index + 1, values);
    const [last] = made.slice(-1);
    expect((await admin.patch(String(last), family.samples.change ?? {})).status, String(last)).toBeLessThan(500);
    expect((await admin.delete(String(last))).status, String(last)).toBeLessThan(500);
  }
  const [queued] = await rows('select count(*)::integer as count from event_queue');
  expect(queued?.count).toBeGreaterThan(2 * FAMILIES.length);
  while (await fanOut(db));
});

/** Five processes share the delivery to one receiver: nothing arrives twice while none of them fails. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/api/store/database.ts';
import { atEnd } from '../../end-of-file.ts';
import { ApiProcess, removeFolder } from '../faults/api-process.ts';
import { emptyDatabase } from '../harness.ts';
import { startReceiver } from './chaos-receiver.ts';
import { startWorkerProcess } from './worker-process.ts';

const POLICIES = 100;
const WRITERS = 4;

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-replicas-'));
atEnd(removeFolder(folder));
const databaseUrl = await emptyDatabase();
const db = openDatabase({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 20_000, connectTimeoutMs: 5_000 });
atEnd(() => db.close());
const query = (text: string) => db.query({ text, values: [] });

const settings = (name: string) => ({
  folder,
  name,
  databaseUrl,
  apiKey: 'tnl_ak_of_the_writers_0123456789012345',
  env: { LOG_LEVEL: 'warn', EVENT_ALLOW_NETWORKS: '127.0.0.0/8', EVENT_HTTP_HOSTS: '127.0.0.1', RATE_LIMIT: '0' },
});

test('two APIs and three workers deliver each of 300 events once', { timeout: 180_000 }, async () => {
  const one = await ApiProcess.start(settings('api-1'));
  atEnd(() => one.stop());
  const two = await ApiProcess.start(settings('api-2'));
  atEnd(() => two.stop());
  for (const name of ['worker-1', 'worker-2', 'worker-3']) await startWorkerProcess(settings(name));

  const receiver = await startReceiver(() => 204);
  const target = { webhook: { url: receiver.url } };
  const { id, signing_secret } = await one.client.eventDestinations.create({ target });
  receiver.secret = signing_secret ?? '';
  const types = ['ip_policy_created.v0', 'ip_policy_updated.v0', 'ip_policy_deleted.v0'];
  await one.client.eventSubscriptions.create({ sources: types.map((type) => ({ type })), destination_ids: [id] });

  let left = POLICIES;
  const write = async () => {
    while (left-- > 0) {
      const policy = await one.client.ipPolicies.create({});
      await two.client.ipPolicies.update(policy.id, { description: 'changed' });
      await one.client.ipPolicies.delete(policy.id);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  const waiting = async () => [
    ...(await query('select 1 from event_queue')),
    ...(await query('select 1 from event_streams')),
  ];
  await expect.poll(waiting, { timeout: 60_000 }).toEqual([]);

  const events = await query("select id from events where type like 'ip_policy_%' order by id");
  expect(events).toHaveLength(3 * POLICIES);
  expect(receiver.arrivals.map((arrival) => arrival.id).toSorted()).toEqual(events.map((event) => event.id));
  expect(receiver.invalid).toEqual([]);
});

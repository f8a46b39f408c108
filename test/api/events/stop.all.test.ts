/** A process that is told to stop while a receiver hangs: it ends in time, and another one takes over at once. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Child } from '../../../dev/processes/child-process.ts';
import { openDatabase } from '../../../src/api/store/database.ts';
import { atEnd } from '../../end-of-file.ts';
import { ApiProcess, removeFolder } from '../faults/api-process.ts';
import { emptyDatabase } from '../harness.ts';
import { startReceiver } from './chaos-receiver.ts';
import { startWorkerProcess } from './worker-process.ts';

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-stop-'));
atEnd(removeFolder(folder));
const databaseUrl = await emptyDatabase();
const db = openDatabase({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 20_000, connectTimeoutMs: 5_000 });
atEnd(() => db.close());

/** Too short to wait for the receiver, which is given up after ten seconds. */
const settings = (name: string, env: Record<string, string> = {}) => ({
  folder,
  name,
  databaseUrl,
  apiKey: 'tnl_ak_of_the_tests_012345678901234567',
  env: { EVENT_ALLOW_NETWORKS: '127.0.0.0/8', EVENT_HTTP_HOSTS: '127.0.0.1', SHUTDOWN_TIMEOUT: '4s', ...env },
});

const api = await ApiProcess.start(settings('api', { EVENT_DELIVERY: 'false' }));
atEnd(() => api.stop());

/** Who holds leases now, by process id. */
async function holders(): Promise<string[]> {
  const rows = await db.query({
    text: 'select distinct holder from leases where until > clock_timestamp()',
    values: [],
  });
  return rows.map(({ holder }) => String(holder).split(' ')[1] ?? '');
}

test.each<[string, () => Promise<Pick<Child, 'pid' | 'kill' | 'exited'>>]>([
  ['worker', () => startWorkerProcess(settings('first'))],
  [
    'api',
    async () => {
      const process = await ApiProcess.start(settings('second'));
      atEnd(() => process.stop());
      return process.child;
    },
  ],
])('a stopped %s releases its lease, and another process delivers', { timeout: 120_000 }, async (name, start) => {
  const receiver = await startReceiver(() => new Promise(() => undefined));
  const target = { webhook: { url: receiver.url } };
  const { id, signing_secret } = await api.client.eventDestinations.create({ target });
  receiver.secret = signing_secret ?? '';
  const sources = [{ type: 'bot_user_created.v0' }];
  const subscription = await api.client.eventSubscriptions.create({ sources, destination_ids: [id] });
  const stopped = await start();
  await api.client.botUsers.create({ name: 'a bot' });
  await expect.poll(() => receiver.arrivals.length, { timeout: 10_000 }).toBe(1);
  const other = await startWorkerProcess(settings(`beside the ${name}`));
  expect(await holders()).toEqual([String(stopped.pid)]);

  stopped.kill('SIGTERM');
  // Its own timeout would end it with code 1.
  expect(await stopped.exited).toEqual({ code: 0, signal: null });
  expect(await holders()).not.toContain(String(stopped.pid));
  await expect.poll(() => receiver.arrivals.length, { timeout: 10_000 }).toBe(2);
  expect(await holders()).toEqual([String(other.pid)]);
  other.kill('SIGTERM');
  expect(await other.exited).toEqual({ code: 0, signal: null });
  // Nothing is left that could deliver.
  await api.client.eventSubscriptions.delete(subscription.id);
  await api.client.eventDestinations.delete(id);
});

/** A process that is killed while it deletes an account: another one goes on where it was. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/api/store/database.ts';
import { isNotFound } from '../../../src/client/client.ts';
import { atEnd } from '../../end-of-file.ts';
import { ApiProcess, removeFolder } from '../faults/api-process.ts';
import { emptyDatabase, heldTransaction } from '../harness.ts';

const POLICIES = 5_000;

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-deletion-'));
atEnd(removeFolder(folder));
const databaseUrl = await emptyDatabase();
const db = openDatabase({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 20_000, connectTimeoutMs: 5_000 });
atEnd(() => db.close());
const rows = (text: string, values: unknown[] = []) => db.query({ text, values });
const apiKey = 'tnl_ak_of_the_admins_01234567890123456';
const startApi = async (name: string) => {
  const api = await ApiProcess.start({ folder, name, databaseUrl, apiKey, env: { LOG_LEVEL: 'warn' } });
  atEnd(() => api.stop());
  return api;
};

test('a deletion goes on after kill -9, and ends once', { timeout: 120_000 }, async () => {
  const [one, two] = [await startApi('one'), await startApi('two')];
  const { id } = await one.client.accounts.create({ name: 'a team' });
  await rows(
    `insert into ip_policies (id, created_at, updated_at, account_id)
     select 'ipp_' || lpad(n::text, 26, '0'), now(), now(), $1 from generate_series(1, $2::integer) n`,
    [id, POLICIES],
  );
  // Holds up whoever deletes, in the middle.
  const middle = await heldTransaction(databaseUrl);
  await middle.query('select 1 from ip_policies where id = $1 for update', [
    `ipp_${String(POLICIES / 2).padStart(26, '0')}`,
  ]);
  expect((await one.client.accounts.deleteCascading(id))?.deletion).toMatchObject({ remaining: null });

  const progress = async () => (await two.client.accounts.get(id)).deletion?.remaining;
  await expect.poll(progress, { timeout: 20_000 }).toBeLessThanOrEqual(POLICIES / 2 + 100);
  const [lease] = await rows(`select holder, fence from leases where name = $1`, [`account deletion ${id}`]);
  const holder = String(lease?.holder);
  const [killed, other] = holder.endsWith(` ${one.pid}`) ? [one, two] : [two, one];
  await killed.kill();
  await middle.commit();
  await expect
    .poll(
      () =>
        other.client.accounts.get(id).then(
          () => 'exists',
          (error: unknown) => isNotFound(error),
        ),
      { timeout: 30_000 },
    )
    .toBe(true);
  expect(await rows('select 1 from ip_policies where account_id = $1', [id])).toEqual([]);
  expect(await rows(`select 1 from events where type = 'account_deleted.v0'`)).toHaveLength(1);
});

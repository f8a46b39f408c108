/** A secret that a rotation of the encryption key leaves out cannot be opened once the old key is removed. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { sampleValues } from '../../../dev/fixtures/sample-values.ts';
import { createSample } from '../../../dev/fixtures/samples.ts';
import { SEALED } from '../../../src/api/families/all.ts';
import { readAccount } from '../../../src/api/issuance/account.ts';
import { leaseOf, readJob, saveProgress } from '../../../src/api/issuance/jobs.ts';
import { claimLeases } from '../../../src/api/leases/leases.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { ENCRYPTION_KEY, startTestApi } from '../harness.ts';

const { admin, db, rows } = await startTestApi();
const secrets = createSecrets([ENCRYPTION_KEY]);
const withId = z.looseObject({ id: z.string() });

/** The columns that hold sealed values, as `table.column`. */
async function sealed(): Promise<string[]> {
  const columns = z.array(z.object({ table: z.string(), column: z.string() })).parse(
    await rows(`select table_name as table, column_name as column from information_schema.columns
      where table_schema = current_schema() and data_type = 'text'`),
  );
  const found = columns.map(async ({ table, column }) => {
    const some = await rows(`select 1 from ${table} where ${column} like 'v1.tests.%' limit 1`);
    return some.length > 0 ? [`${table}.${column}`] : [];
  });
  return (await Promise.all(found)).flat().sort();
}

test('a rotation covers every column that a family or module seals', async () => {
  const values = await sampleValues();
  const post = async (path: string, body: object) => (await admin.post(path, body)).as(withId);
  for (const [index, family] of FAMILIES.entries()) await createSample(post, family, 'full', index + 1, values);
  await post('/backends/http_response', { headers: { authorization: 'Basic Og==' } });
  const destination = await post('/event_destinations', { target: { webhook: { url: 'https://hooks.tunnels.test' } } });
  await post(`/event_destinations/${destination.id}/rotate_secret`, {});
  const edge = await post('/edges/https', {});
  const route = await post(`/edges/https/${edge.id}/routes`, { match: '/', match_type: 'path_prefix' });
  const oidc = { issuer: 'https://issuer.example.com', client_id: 'c', client_secret: 's' };
  expect((await admin.put(`/edges/https/${edge.id}/routes/${route.id}/oidc`, oidc)).status).toBe(200);

  await keepCertificateKeys();
  const found = await sealed();
  expect(found.length).toBeGreaterThan(3);
  expect(SEALED.map(({ table, column }) => `${table}.${column}`).sort()).toEqual(found);
});

/** What is stored while a certificate is being issued. */
async function keepCertificateKeys(): Promise<void> {
  await readAccount(db, secrets, 'https://ca.example/directory');
  const policy = { domain: 'certified.example.com', certificate_management_policy: { authority: 'letsencrypt' } };
  const { id } = (await admin.post('/reserved_domains', policy)).as(withId);
  const [lease] = await claimLeases(db, [leaseOf(id)], { holder: 'test', ms: 60_000 });
  const job = await readJob(db, secrets, id, new Date());
  if (!lease || !job) throw new Error('the job is not due');
  expect(await saveProgress(db, secrets, lease, job, { ...job, dueAt: new Date(), privateKey: 'key' })).toBe(true);
}

/** Conditional requests at the same moment; conformance has all others. */
import { expect, test } from 'vitest';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

test('If-Match is checked under the lock, so that a change committed meanwhile counts', async () => {
  const made = await admin.post('/ip_policies', {});
  const { id } = made.as(ipPolicy.view);
  const held = await heldTransaction(api.databaseUrl);
  await held.query('update ip_policies set description = $2, revision = revision + 1 where id = $1', [id, 'first']);
  const patch = admin.patch(`/ip_policies/${id}`, { description: 'second' }, { 'if-match': made.headers.etag ?? '' });
  await untilWaiting(api, 1);
  await held.commit();
  expect((await patch).status).toBe(412);
});

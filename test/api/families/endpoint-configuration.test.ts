/** References while their targets change; conformance covers everything else. */
import { expect, test } from 'vitest';
import { endpointConfiguration } from '../../../src/resources/endpoint-configuration.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const PATH = '/endpoint_configurations';
const policy = async () => (await admin.post('/ip_policies', {})).as(ipPolicy.view).id;

test.each([
  ['refers to a policy that changes meanwhile', "update ip_policies set description = 'new' where id = $1", 200],
  ['refuses a policy that is deleted meanwhile', 'delete from ip_policies where id = $1', 400],
])('an endpoint configuration %s', async (_, change, status) => {
  const [before, other] = [await policy(), await policy()];
  const made = await admin.post(PATH, { type: 'tcp', ip_policy_ids: [before] });
  const held = await heldTransaction(api.databaseUrl);
  await held.query('select 1 from ip_policies where id = $1 for update', [other]);
  await held.query(change, [other]);
  const { id } = made.as(endpointConfiguration.view);
  const answer = admin.patch(`${PATH}/${id}`, { ip_policy_ids: [before, other] });
  await untilWaiting(api, 1);
  await held.commit();
  expect((await answer).status).toBe(status);
});

test('a list with a deleted policy may be written back in another order', async () => {
  const [kept, gone] = [await policy(), await policy()];
  const { id } = (await admin.post(PATH, { type: 'tcp', ip_policy_ids: [kept, gone] })).as(endpointConfiguration.view);
  await admin.delete(`/ip_policies/${gone}`);
  const back = await admin.patch(`${PATH}/${id}`, { ip_policy_ids: [gone, kept] });
  expect(back.as(endpointConfiguration.view).ip_policies.map((each) => each.id)).toEqual([gone, kept]);
});

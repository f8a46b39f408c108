import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/resources/definition/id.ts';
import { endpointConfiguration, MAX_IP_POLICIES } from '../../../src/resources/endpoint-configuration.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { BASE, heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const PATH = '/endpoint_configurations';

const policy = async () => (await admin.post('/ip_policies', {})).as(ipPolicy.view);
const create = async (body: object) => (await admin.post(PATH, body)).as(endpointConfiguration.view);

describe('an endpoint configuration', () => {
  test('is created, shown, listed, changed and deleted', async () => {
    const { id: policyId, uri } = await policy();
    const sent = { description: 'd', metadata: 'm', type: 'https' };
    const created = await create({ ...sent, ip_policy_ids: [policyId] });
    const own = { id: created.id, uri: `${BASE}${PATH}/${created.id}`, created_at: created.created_at };
    expect(created).toEqual({ ...sent, ...own, ip_policies: [{ id: policyId, uri }] });
    expect(created.id).toMatch(/^ec_/);
    expect((await admin.get(`${PATH}/${created.id}`)).as(endpointConfiguration.view)).toEqual(created);
    expect(JSON.parse((await admin.get(PATH)).text).endpoint_configurations).toContainEqual(created);
    const changed = await admin.patch(`${PATH}/${created.id}`, { ip_policy_ids: [] });
    expect(changed.as(endpointConfiguration.view)).toEqual({ ...created, ip_policies: [] });
    expect((await admin.delete(`${PATH}/${created.id}`)).status).toBe(204);
  });

  test.each(['http', 'https', 'tcp', 'tls'])('may be of type %s, for life', async (type) => {
    const { id, ip_policies } = await create({ type });
    expect(ip_policies).toEqual([]);
    expect((await admin.patch(`${PATH}/${id}`, { type: 'udp' })).error.details['/type']).toBe('cannot be changed');
  });

  test.each([
    ['/type', {}],
    ['/type', { type: 'udp' }],
    ['/type', { type: 'HTTP' }],
    ['/ip_policy_ids/0', { type: 'http', ip_policy_ids: [newId('ipp')] }],
    ['/ip_policy_ids/0', { type: 'http', ip_policy_ids: ['x'] }],
    [
      '/ip_policy_ids',
      { type: 'http', ip_policy_ids: Array.from({ length: MAX_IP_POLICIES + 1 }, () => newId('ipp')) },
    ],
    ['/ip_policies', { type: 'http', ip_policies: [] }],
    ['/description', { type: 'http', description: 'x'.repeat(256) }],
    ['/metadata', { type: 'http', metadata: 'x'.repeat(4097) }],
  ])('a wrong %s is refused by name: %o', async (pointer, body) => {
    const { error } = await admin.post(PATH, body);
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details).toHaveProperty([pointer]);
  });

  test('still refers to a policy that is deleted, and can be written back like that', async () => {
    const [kept, gone] = [await policy(), await policy()];
    const { id } = await create({ type: 'tcp', ip_policy_ids: [kept.id, gone.id] });
    expect((await admin.delete(`/ip_policies/${gone.id}`)).status).toBe(204);
    const shown = (await admin.get(`${PATH}/${id}`)).as(endpointConfiguration.view);
    expect(shown.ip_policies).toContainEqual({ id: gone.id, uri: gone.uri });
    const ip_policy_ids = shown.ip_policies.map((each) => each.id);
    expect((await admin.patch(`${PATH}/${id}`, { ip_policy_ids: ip_policy_ids.toReversed() })).status).toBe(200);
    expect((await admin.patch(`${PATH}/${id}`, { ip_policy_ids: [kept.id] })).status).toBe(200);
    const again = await admin.patch(`${PATH}/${id}`, { ip_policy_ids });
    expect(again.error.details['/ip_policy_ids/1']).toBe(`IP policy ${gone.id} does not exist`);
  });

  test.each([
    ['refers to a policy that changes meanwhile', "update ip_policies set description = 'new' where id = $1", 200],
    ['refuses a policy that is deleted meanwhile', 'delete from ip_policies where id = $1', 400],
  ])('%s, once that is decided', async (_, change, status) => {
    const [before, other] = [await policy(), await policy()];
    const { id } = await create({ type: 'tcp', ip_policy_ids: [before.id] });
    const held = await heldTransaction(api.databaseUrl);
    await held.query('select 1 from ip_policies where id = $1 for update', [other.id]);
    await held.query(change, [other.id]);
    const answer = admin.patch(`${PATH}/${id}`, { ip_policy_ids: [before.id, other.id] });
    await untilWaiting(api, 1);
    await held.commit();
    expect((await answer).status).toBe(status);
  });
});

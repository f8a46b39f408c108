/** Who manages a resource, beyond what dev/conformance/rows/resource-managers.ts shows of single requests. */
import { expect, test } from 'vitest';
import { resourceManager } from '../../../src/resources/definition/manager.ts';
import { httpsEdge } from '../../../src/resources/https-edge.ts';
import { httpsEdgeRoute } from '../../../src/resources/https-edge-route.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi({ poolSize: 20 });
const { admin } = api;

const inTheNameOf = (object: string) => ({
  'resource-manager': `cluster/${object}; namespace=shop; kind=Any; name=${object}`,
});

test('of managers that claim a resource at once, one gets it', async () => {
  const { id } = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
  const names = Array.from({ length: 20 }, (_, number) => `object-${number}`);
  const replies = await Promise.all(
    names.map((name, number) =>
      number % 2 === 0
        ? admin.put(`/resource_managers/${id}`, {}, inTheNameOf(name))
        : admin.patch(`/ip_policies/${id}`, { description: name }, inTheNameOf(name)),
    ),
  );
  const [winner, ...others] = names.filter((_, number) => replies[number]?.status === 200);
  expect(others).toEqual([]);
  expect((await admin.get(`/resource_managers/${id}`)).as(resourceManager).name).toBe(winner);
  const managed = replies.filter(({ status }) => status !== 200).map(({ error }) => error.details.manager_name);
  expect(new Set(managed)).toEqual(new Set([winner]));
});

test('deleting a resource deletes the records of its parts', async () => {
  const edge = (await admin.post('/edges/https', {}, inTheNameOf('edge'))).as(httpsEdge.view);
  const route = (
    await admin.post(`/edges/https/${edge.id}/routes`, { match: '/', match_type: 'path_prefix' }, inTheNameOf('route'))
  ).as(httpsEdgeRoute.view);
  await admin.put(`/resource_managers/${route.id}/modules`, {}, inTheNameOf('modules'));
  const records = async () => {
    const found = await api.rows('select name from resource_managers where resource_id = any($1)', [
      [edge.id, route.id],
    ]);
    return found.map(({ name }) => name).sort();
  };
  expect(await records()).toEqual(['edge', 'modules', 'route']);
  expect((await admin.delete(`/edges/https/${edge.id}`, inTheNameOf('edge'))).status).toBe(204);
  expect(await records()).toEqual([]);
});

test('a stale change records no manager', async () => {
  const { id } = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
  const stale = { ...inTheNameOf('late'), 'if-match': '"7"' };
  expect((await admin.patch(`/ip_policies/${id}`, { description: 'x' }, stale)).status).toBe(412);
  expect((await admin.get(`/resource_managers/${id}`)).status).toBe(404);
});

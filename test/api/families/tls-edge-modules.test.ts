import { expect, test } from 'vitest';
import { z } from 'zod';
import { newId } from '../../../src/resources/definition/id.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const withId = z.looseObject({ id: z.string(), uri: z.string() });
const make = async (path: string, body: object = {}) => (await admin.post(path, body)).as(withId).id;

test('the events of an edge show which modules it has', async () => {
  const id = await make('/edges/tls');
  await admin.put(`/edges/tls/${id}/ip_restriction`, { ip_policy_ids: [await make('/ip_policies')] });
  await admin.put(`/edges/tls/${id}/backend`, { backend_id: await make('/backends/http_response') });
  await admin.delete(`/edges/tls/${id}/ip_restriction`);
  const events = await api.rows('select payload from events where resource_id = $1 order by id', [id]);
  const modules = [[], ['ip_restriction'], ['backend', 'ip_restriction'], ['backend']];
  expect(events).toMatchObject(modules.map((each) => ({ payload: { modules: each } })));
});

test('a problem inside a list of Refs is reported at the place where it was sent', async () => {
  const [edge, policy] = [await make('/edges/tls'), await make('/ip_policies')];
  const put = async (body: object) => (await admin.put(`/edges/tls/${edge}/ip_restriction`, body)).error.details;
  const refs = [policy, 'nonsense'].map((id) => ({ id, uri: '/' }));
  const details = await put({ ip_policies: refs });
  expect(details['/ip_policies/1']).toMatch(/^must be an id/);
  expect(details).not.toHaveProperty(['/ip_policy_ids/1']);
  expect(await put({ ip_policy_ids: [policy, policy] })).toHaveProperty(['/ip_policy_ids/1']);
  expect(await put({ ip_policy_ids: [newId('usr')] })).toHaveProperty(['/ip_policy_ids/0']);
});

import { expect, test } from 'vitest';
import { z } from 'zod';
import { newId } from '../../../src/resources/definition/id.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const withId = z.looseObject({ id: z.string(), uri: z.string() });
const make = async (path: string, body: object = {}) => (await admin.post(path, body)).as(withId).id;

test('a change of a module is one event, with its settings and the revision of its edge', async () => {
  const id = await make('/edges/tls');
  const path = `/edges/tls/${id}/ip_restriction`;
  const policies = [await make('/ip_policies'), await make('/ip_policies')];
  const views = [
    await admin.put(path, { ip_policy_ids: policies.slice(0, 1) }),
    await admin.put(path, { ip_policy_ids: policies }),
    await admin.put(path, { ip_policy_ids: policies }),
  ].map((reply) => reply.as(z.looseObject({})));
  await admin.delete(path);
  const columns = 'type, revision, changed_fields, payload';
  const [, ...events] = await api.rows(`select ${columns} from events where resource_id = $1 order by id`, [id]);
  const [one, two] = views.map((view) => ({ id, ...view }));
  const type = (kind: string) => `tls_edge_ip_restriction_${kind}.v0`;
  expect(events).toEqual([
    { type: type('created'), revision: 2, changed_fields: null, payload: one },
    { type: type('updated'), revision: 3, changed_fields: ['ip_policies'], payload: two },
    { type: type('deleted'), revision: 4, changed_fields: null, payload: two },
  ]);
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

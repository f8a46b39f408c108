import { expect, test } from 'vitest';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi({ platform: { serviceDomains: ['tunnels.example', 'other.example'] } });
const { admin } = api;
const PATH = '/reserved_domains';
const create = async (domain: string) => (await admin.post(PATH, { domain })).as(reservedDomain.view);

test('one of two concurrent requests for a domain gets it', async () => {
  const both = await Promise.all([1, 2].map(() => admin.post(PATH, { domain: 'race.example.org' })));
  expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
});

test('CNAME targets derive from the service domains, and stay when those change', async () => {
  const { id, cname_target } = await create('app.example.org');
  expect(cname_target).toBe(`${id.slice('rd_'.length)}.cname.tunnels.example`);
  expect((await create('a.b.other.example')).cname_target).toBeNull();
  const { error } = await admin.post(PATH, { domain: '*.tunnels.example' });
  expect(error.details['/domain']).toMatch(/belongs to the service/);
  const later = await startTestApi({ databaseUrl: api.databaseUrl, platform: { serviceDomains: ['new.example'] } });
  const changed = await later.admin.patch(`${PATH}/${id}`, { description: 'new' });
  expect(changed.as(reservedDomain.view)).toMatchObject({ description: 'new', cname_target });
});

test('endpoint configurations can be deleted once the domain is gone', async () => {
  const { id } = JSON.parse((await admin.post('/endpoint_configurations', { type: 'https' })).text);
  const domain = await create('bound.example.org');
  const bound = await admin.patch(`${PATH}/${domain.id}`, { https_endpoint_configuration_id: id });
  expect(bound.status).toBe(200);
  await admin.delete(`${PATH}/${domain.id}`);
  expect((await admin.delete(`/endpoint_configurations/${id}`)).status).toBe(204);
});

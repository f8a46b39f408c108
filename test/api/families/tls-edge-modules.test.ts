import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const withId = z.looseObject({ id: z.string(), uri: z.string() });
const { pem } = await makeCertificate({});

const make = async (path: string, body: object = {}) => {
  const { id, uri } = (await admin.post(path, body)).as(withId);
  return { id, uri };
};
const newPolicy = () => make('/ip_policies');
const newAuthority = () => make('/certificate_authorities', { ca_pem: pem });
const newBackend = () => make('/backends/tunnel_group', { labels: { a: 'b' } });

let edge = '';
beforeEach(async () => {
  edge = `/edges/tls/${(await make('/edges/tls')).id}`;
});
const json = (text: string): unknown => JSON.parse(text);

/** The modules with lists: name, field of requests, field of responses, what it lists. */
const LISTS = [
  ['ip_restriction', 'ip_policy_ids', 'ip_policies', newPolicy],
  ['mutual_tls', 'certificate_authority_ids', 'certificate_authorities', newAuthority],
] as const;

describe.each(LISTS)('the %s module of a TLS edge', (module, ids, shown, newMember) => {
  test('is replaced as a whole, shown and deleted', async () => {
    const path = `${edge}/${module}`;
    const [a, b] = [await newMember(), await newMember()];
    expect((await admin.get(path)).error).toMatchObject({ error_code: 'NOT_FOUND', details: { module } });
    const first = await admin.put(path, { enabled: false, [ids]: [b.id, a.id] });
    expect(first.status).toBe(200);
    expect(json(first.text)).toEqual({ enabled: false, [shown]: [b, a] });
    expect(json((await admin.get(path)).text)).toEqual({ enabled: false, [shown]: [b, a] });
    // What is left out goes back to its default.
    expect(json((await admin.put(path, { [ids]: [a.id] })).text)).toEqual({ enabled: true, [shown]: [a] });
    expect(json((await admin.put(path, { enabled: null, [ids]: [a.id] })).text)).toEqual({
      enabled: true,
      [shown]: [a],
    });
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(path)).status).toBe(404);
    expect((await admin.delete(path)).status).toBe(404);
  });

  test('names what exists, at least one and each once', async () => {
    const path = `${edge}/${module}`;
    const { id } = await newMember();
    const missing = newId(id.slice(0, id.indexOf('_')));
    const details = async (body: object) => (await admin.put(path, body)).error.details;
    expect((await details({ [ids]: [id, missing] }))[`/${ids}/1`]).toMatch(/ does not exist$/);
    expect((await details({ [ids]: [] }))[`/${ids}`]).toMatch(/at least 1/);
    expect((await details({}))[`/${ids}`]).toBe('is required');
    expect((await details({ [ids]: null }))[`/${ids}`]).toMatch(/must be an array/);
    expect((await details({ [ids]: [id, id] }))[`/${ids}/1`]).toMatch(/already/);
    expect(await details({ [ids]: [newId('usr')] })).toHaveProperty([`/${ids}/0`]);
    expect(await details({ [ids]: [id], enabled: 'yes' })).toHaveProperty(['/enabled']);
    expect(await details({ [ids]: [id], [shown]: [] })).toHaveProperty([`/${shown}`]);
    const odd = await details({
      [shown]: [
        { id, uri: '/' },
        { id: 'nonsense', uri: '/' },
      ],
    });
    expect(odd[`/${shown}/1`]).toMatch(/^must be an id/);
    expect(odd).not.toHaveProperty([`/${ids}/1`]);
    expect(await details({ [ids]: Array.from({ length: 51 }, () => id) })).toHaveProperty([`/${ids}`]);
    expect((await admin.get(path)).status).toBe(404);
  });
});

describe('the backend module of a TLS edge', () => {
  test('is replaced as a whole, shown and deleted', async () => {
    const path = `${edge}/backend`;
    const backend = await newBackend();
    expect((await admin.get(path)).status).toBe(404);
    expect(json((await admin.put(path, { backend_id: backend.id, enabled: false })).text)).toEqual({
      enabled: false,
      backend,
    });
    const fixed = await make('/backends/http_response');
    expect(json((await admin.put(path, { backend_id: fixed.id })).text)).toEqual({ enabled: true, backend: fixed });
    expect(fixed.uri).toBe(`${BASE}/backends/http_response/${fixed.id}`);
    expect(json((await admin.get(path)).text)).toEqual({ enabled: true, backend: fixed });
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(path)).status).toBe(404);
  });

  test('names a backend that exists', async () => {
    const details = async (body: object) => (await admin.put(`${edge}/backend`, body)).error.details;
    expect((await details({ backend_id: newId('bkdtg') }))['/backend_id']).toMatch(
      /tunnel group backend \w+ does not exist/,
    );
    expect((await details({ backend_id: newId('ipp') }))['/backend_id']).toMatch(/bkdtg_ or bkdhr_/);
    expect((await details({}))['/backend_id']).toBe('is required');
    expect(await details({ backend_id: null })).toHaveProperty(['/backend_id']);
  });
});

describe('a module', () => {
  test('is part of its edge: one revision, an event for each change, and its name in the list', async () => {
    const { id } = await newPolicy();
    const path = `${edge}/ip_restriction`;
    const { etag = '' } = (await admin.get(edge)).headers;
    const put = await admin.put(path, { ip_policy_ids: [id] }, { 'if-match': etag });
    expect(put.headers.etag).not.toBe(etag);
    expect((await admin.get(edge)).headers.etag).toBe(put.headers.etag);
    expect((await admin.get(path, { 'if-none-match': put.headers.etag ?? '' })).status).toBe(304);
    expect((await admin.put(path, { ip_policy_ids: [id] }, { 'if-match': etag })).status).toBe(412);
    expect((await admin.delete(path, { 'if-match': etag })).status).toBe(412);
    // The same again changes nothing.
    expect((await admin.put(path, { enabled: true, ip_policy_ids: [id] })).headers.etag).toBe(put.headers.etag);
    await admin.put(`${edge}/backend`, { backend_id: (await newBackend()).id });
    expect(json((await admin.get(edge)).text)).toMatchObject({ modules: ['backend', 'ip_restriction'] });
    await admin.delete(path);
    expect(json((await admin.get(edge)).text)).toMatchObject({ modules: ['backend'] });
    const events = await api.rows('select type, payload from events where resource_id = $1 order by id', [
      edge.split('/').at(-1),
    ]);
    expect(events).toMatchObject([
      { type: 'tls_edge_created.v0', payload: { modules: [] } },
      { type: 'tls_edge_updated.v0', payload: { modules: ['ip_restriction'] } },
      { type: 'tls_edge_updated.v0', payload: { modules: ['backend', 'ip_restriction'] } },
      { type: 'tls_edge_updated.v0', payload: { modules: ['backend'] } },
    ]);
  });

  test('goes with its edge', async () => {
    const authority = await newAuthority();
    await admin.put(`${edge}/mutual_tls`, { certificate_authority_ids: [authority.id] });
    await admin.delete(edge);
    expect((await admin.get(`${edge}/mutual_tls`)).status).toBe(404);
    expect(await api.rows('select 1 from modules where owner_id = $1', [edge.split('/').at(-1)])).toEqual([]);
    expect((await admin.delete(`/certificate_authorities/${authority.id}`)).status).toBe(204);
  });

  test('needs an edge', async () => {
    const path = `/edges/tls/${newId('edgtls')}/backend`;
    expect((await admin.get(path)).status).toBe(404);
    expect((await admin.put(path, { backend_id: (await newBackend()).id })).status).toBe(404);
    expect((await admin.delete(path)).status).toBe(404);
  });

  test('takes no method but PUT, GET and DELETE', async () => {
    const { status, headers } = await admin.post(`${edge}/backend`, {});
    expect([status, headers.allow]).toEqual([405, 'DELETE, GET, HEAD, PUT']);
  });
});

describe('what a module refers to', () => {
  test('can be deleted if it is an IP policy: the Ref stays, and may be written back', async () => {
    const [kept, gone] = [await newPolicy(), await newPolicy()];
    const path = `${edge}/ip_restriction`;
    await admin.put(path, { ip_policy_ids: [kept.id, gone.id] });
    expect((await admin.delete(`/ip_policies/${gone.id}`)).status).toBe(204);
    expect(json((await admin.get(path)).text)).toEqual({ enabled: true, ip_policies: [kept, gone] });
    const back = await admin.put(path, { enabled: false, ip_policy_ids: [gone.id, kept.id] });
    expect(json(back.text)).toEqual({ enabled: false, ip_policies: [gone, kept] });
    await admin.put(path, { ip_policy_ids: [kept.id] });
    const again = await admin.put(path, { ip_policy_ids: [kept.id, gone.id] });
    expect(again.error.details['/ip_policy_ids/1']).toMatch(/IP policy \w+ does not exist/);
  });

  test('stays if it is anything else, and the answer names the edge', async () => {
    const [authority, backend] = [await newAuthority(), await newBackend()];
    await admin.put(`${edge}/mutual_tls`, { certificate_authority_ids: [authority.id] });
    await admin.put(`${edge}/backend`, { backend_id: backend.id });
    const id = edge.split('/').at(-1);
    for (const path of [`/certificate_authorities/${authority.id}`, `/backends/tunnel_group/${backend.id}`]) {
      expect((await admin.delete(path)).error).toMatchObject({
        error_code: 'RESOURCE_IN_USE',
        details: { tls_edge: id },
      });
    }
    await admin.delete(`${edge}/mutual_tls`);
    await admin.put(`${edge}/backend`, { backend_id: (await newBackend()).id });
    for (const path of [`/certificate_authorities/${authority.id}`, `/backends/tunnel_group/${backend.id}`]) {
      expect((await admin.delete(path)).status).toBe(204);
    }
  });
});

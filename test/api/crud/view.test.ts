/** How a stored row is shown; test/api/life covers what each family shows. */
import { describe, expect, test } from 'vitest';
import { differing, fillPath, linker, NO_BASE, viewer } from '../../../src/api/crud/view.ts';
import { botUser } from '../../../src/resources/bot-user.ts';
import { eventSubscription } from '../../../src/resources/event-subscription.ts';
import { httpResponseBackend } from '../../../src/resources/http-response-backend.ts';
import { httpsEdgeRoute } from '../../../src/resources/https-edge-route.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';

const BASE = 'https://api.example.com';
const common = { created_at: '2026-01-02T03:04:05.000Z', revision: 7, description: 'x', metadata: null };

test('the parameters of a path are filled in and escaped', () => {
  expect(fillPath('/a/{one}/b/{other_one}', { one: 'x/y', other_one: 7, more: 1 })).toBe('/a/x%2Fy/b/7');
});

describe('a row', () => {
  test('is shown with its address, but without its revision or columns that are not fields', () => {
    const { created_at, description, metadata } = common;
    expect(viewer(ipPolicy)({ ...common, id: 'ipp_1', token_hash: 'hidden' }, BASE)).toEqual({
      id: 'ipp_1',
      uri: `${BASE}/ip_policies/ipp_1`,
      created_at,
      description,
      metadata,
    });
  });

  test('is shown without a field that is null and may be left out', () => {
    const row = { ...common, id: 'bot_1', name: 'a bot', active: true };
    expect(viewer(botUser)({ ...row, role: 'viewer' }, BASE)).toMatchObject({ role: 'viewer' });
    expect(viewer(botUser)({ ...row, role: null }, BASE)).not.toHaveProperty('role');
  });

  test('has its address below its parent, which it shows as a reference', () => {
    const row = {
      ...common,
      id: 'edghtsrt_1',
      edge_id: 'edghts_1',
      match: '/',
      match_type: 'exact_path',
      backend_id: null,
    };
    const shown = viewer(httpsEdgeRoute)(row, BASE);
    expect(shown).toMatchObject({
      uri: `${BASE}/edges/https/edghts_1/routes/edghtsrt_1`,
      edge: { id: 'edghts_1', uri: `${BASE}/edges/https/edghts_1` },
      backend: null,
    });
    expect(shown).not.toHaveProperty('edge_id');
  });
});

describe('a stored view gets the base of its links back', () => {
  test('in its own link and those of its references, but in nothing else that looks like a path', () => {
    const row = {
      ...common,
      id: 'rd_1',
      domain: 'a.example',
      certificate_id: 'cert_1',
      description: '/x',
      metadata: '/y',
    };
    const show = viewer(reservedDomain);
    const stored = show(row, NO_BASE);
    expect(stored.uri).toBe('/reserved_domains/rd_1');
    const linked = linker(reservedDomain)(stored, BASE);
    expect(linked).toEqual(show(row, BASE));
    expect(linked).toMatchObject({ certificate: { id: 'cert_1', uri: `${BASE}/tls_certificates/cert_1` } });
  });

  test('in lists as well', () => {
    const row = { ...common, id: 'esb_1', destination_ids: ['ed_1', 'ed_2'], sources: ['user_created.v0'] };
    const show = viewer(eventSubscription);
    const linked = linker(eventSubscription)(show(row, NO_BASE), BASE);
    expect(linked).toEqual(show(row, BASE));
    expect(JSON.stringify(linked)).toContain(`"${BASE}/event_destinations/ed_2"`);
  });

  test('but not in values of users, whatever their names are', () => {
    const row = { ...common, id: 'bkdhr_1', body: '', status_code: 200, headers: { uri: '/x' } };
    const show = viewer(httpResponseBackend);
    expect(linker(httpResponseBackend)(show(row, NO_BASE), BASE)).toEqual(show(row, BASE));
  });

  test('unless it was stored with one', () => {
    const stored = { id: 'ipp_1', uri: 'http://old.example/ip_policies/ipp_1' };
    expect(linker(ipPolicy)(stored, BASE)).toEqual(stored);
  });
});

test('a member that a change leaves out differs', () => {
  expect(differing({ name: 'a', role: 'viewer' }, { name: 'a', active: true })).toEqual(['role', 'active']);
});

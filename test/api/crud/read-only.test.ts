/** Read-only members that an update may send back; test/api/life covers each family. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { atEnd } from '../../end-of-file.ts';
import { heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const withId = z.looseObject({ id: z.string() });

async function certificate(): Promise<string> {
  const { pem, keyPem } = await makeCertificate({ names: [{ type: 'dns', value: '*.example.com' }] });
  const made = await admin.post('/tls_certificates', { certificate_pem: pem, private_key_pem: keyPem });
  return made.as(withId).id;
}

let count = 0;
async function domain(more: object = {}) {
  const made = await admin.post('/reserved_domains', { domain: `d${++count}.example.com`, ...more });
  const view = made.as(reservedDomain.view);
  return { view, address: `/reserved_domains/${view.id}` };
}

test('a Ref may be sent with an id that changes what it shows', async () => {
  const { view, address } = await domain({ certificate_id: await certificate() });
  const other = await certificate();
  const changed = (await admin.patch(address, { ...view, certificate_id: other })).as(reservedDomain.view);
  expect(changed.certificate?.id).toBe(other);
});

describe('a value that is sent back', () => {
  test('is compared with the stored value when the change is made, not before', async () => {
    const { address, view } = await domain();
    const other = await heldTransaction(api.databaseUrl);
    atEnd(() => other.rollback().catch(() => {}));
    await other.query('update reserved_domains set certificate_id = $2 where id = $1', [view.id, newId('cert')]);
    const answer = admin.patch(address, { ...view, description: 'changed' });
    await untilWaiting(api, 1);
    await other.commit();
    expect((await answer).error.details['/certificate']).toBe('shows certificate_id; set that');
    expect((await admin.get(address)).as(reservedDomain.view).description).toBeNull();
  });

  test('is checked after If-Match, and after the existence of the resource', async () => {
    const { address } = await domain();
    const other = { uri: 'another' };
    expect((await admin.patch(address, other, { 'if-match': '"7"' })).status).toBe(412);
    expect((await admin.patch(`/reserved_domains/${newId('rd')}`, other)).status).toBe(404);
    expect((await admin.patch(address, other, { 'if-match': '"1"' })).error.details['/uri']).toBe(
      'is set by the service',
    );
  });

  test.each([null, ''])('may be %o if the service sets it, but not if it was chosen at creation', async (none) => {
    const { address, view } = await domain({ region: 'eu' });
    const set = { id: none, uri: none, created_at: none, cname_target: none };
    expect((await admin.patch(address, set)).as(reservedDomain.view)).toEqual(view);
    const { request_id: _, ...details } = (await admin.patch(address, { ...set, region: none })).error.details;
    expect(details).toEqual({ '/region': 'cannot be changed' });
  });

  test.each([
    ['is the default', {}, { private_key_type: null }, 200],
    ['is not the default', { private_key_type: 'ecdsa' }, { private_key_type: null }, 400],
    ['was chosen by the service', { private_key_type: 'ecdsa' }, { elliptic_curve: null }, 200],
    ['might have been chosen', { private_key_type: 'ecdsa', elliptic_curve: 'nistp521' }, { elliptic_curve: '' }, 200],
  ])('may be null or "", as in a create, if the stored value %s: %o, %o, %i', async (_, given, none, status) => {
    const path = '/ssh_certificate_authorities';
    const view = (await admin.post(path, given)).as(withId);
    const answer = await admin.patch(`${path}/${view.id}`, none);
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.as(withId)).toEqual(view);
    else expect(answer.error.details).toMatchObject({ '/private_key_type': 'cannot be changed' });
  });

  test('may be spelt as in a create', async () => {
    const { address, view } = await domain({ region: 'eu' });
    const spelt = { domain: view.domain.toUpperCase(), region: 'eu' };
    expect((await admin.patch(address, spelt)).as(reservedDomain.view)).toEqual(view);
  });
});

describe('the secret that the response to a create has shown', () => {
  test.each([
    ['/credentials', 'token', {}],
    ['/api_keys', 'token', {}],
    ['/event_destinations', 'signing_secret', { target: { webhook: { url: 'https://hooks.example.com' } } }],
  ])('of %s may be sent back, but no other secret', async (path, name, body) => {
    const [one, other] = [await admin.post(path, body), await admin.post(path, body)].map((made) => made.as(withId));
    const address = `${path}/${one?.id}`;
    expect((await admin.patch(address, { [name]: one?.[name] })).as(withId)).toMatchObject({ [name]: null });
    expect((await admin.patch(address, one)).as(withId)).toEqual({ ...one, [name]: null });
    for (const wrong of [other?.[name], 'x', 7]) {
      expect((await admin.patch(address, { [name]: wrong })).error.details).toHaveProperty([`/${name}`]);
    }
  });
});

test('the parent of a resource may be sent back, but no other parent', async () => {
  const [own, other] = [await admin.post('/ip_policies', {}), await admin.post('/ip_policies', {})].map((made) =>
    made.as(withId),
  );
  const made = await admin.post('/ip_policy_rules', { ip_policy_id: own?.id, cidr: '10.0.0.0/8', action: 'allow' });
  const address = `/ip_policy_rules/${made.as(withId).id}`;
  expect((await admin.patch(address, { ip_policy_id: own?.id })).status).toBe(200);
  for (const ip_policy_id of [other?.id, null, '']) {
    const { error } = await admin.patch(address, { ip_policy_id });
    expect(error.details).toMatchObject({ '/ip_policy_id': 'cannot be changed' });
  }
});

describe('a rule set', () => {
  async function policy() {
    const { id } = (await admin.post('/ip_policies', {})).as(withId);
    const address = `/ip_policies/${id}/rules`;
    const rules = ['10.0.0.0/8', '192.0.2.0/24'].map((cidr) => ({ cidr, action: 'allow' }));
    const set = z.looseObject({ ip_policy_rules: z.array(withId) });
    const view = (await admin.put(address, { rules })).as(set);
    return { id, address, view, rules: view.ip_policy_rules, read: async () => (await admin.get(address)).as(set) };
  }

  test('accepts a changed rule among those that are sent back', async () => {
    const { address, rules, read } = await policy();
    const [first] = rules;
    expect((await admin.put(address, { rules: [{ ...first, action: 'deny' }] })).status).toBe(200);
    expect((await read()).ip_policy_rules).toEqual([{ ...first, action: 'deny' }]);
  });

  test('accepts another CIDR block in a rule that is sent back, which makes it a new rule', async () => {
    const { address, rules, read } = await policy();
    const [first, second] = rules;
    const cidr = '198.51.100.0/24';
    expect((await admin.put(address, { rules: [first, { ...second, cidr }] })).status).toBe(200);
    const after = (await read()).ip_policy_rules;
    expect(after).toMatchObject([first ?? {}, { cidr, action: 'allow' }]);
    expect(after[1]?.id).not.toBe(second?.id);
  });

  test('may name its policy in each rule, but no other policy', async () => {
    const { id, address, view, rules, read } = await policy();
    const naming = (ip_policy_id: string) => ({ rules: rules.map((rule) => ({ ...rule, ip_policy_id })) });
    expect((await admin.put(address, naming(id))).status).toBe(200);
    const fresh = { cidr: '198.51.100.0/24', action: 'deny', ip_policy_id: newId('ipp') };
    const other = await admin.put(address, { rules: [...rules, fresh] });
    expect(other.error.details).toHaveProperty(['/rules/2/ip_policy_id']);
    expect(await read()).toEqual(view);
    expect((await admin.put(address, { rules: [...rules, { ...fresh, ip_policy_id: id }] })).status).toBe(200);
  });

  test('reports what is wrong inside its rules under the name by which they were sent', async () => {
    const { address, view, rules, read } = await policy();
    const [first, second] = rules;
    const details = async (wrong: object) => {
      const { error } = await admin.put(address, { ip_policy_rules: [first, { ...second, ...wrong }] });
      const { request_id: _, ...others } = error.details;
      return others;
    };
    const cidr = expect.stringMatching(/^must be a CIDR block/);
    expect(await details({ cidr: 'nonsense' })).toEqual({ '/ip_policy_rules/1/cidr': cidr });
    expect(await details({ typo: 1 })).toEqual({ '/ip_policy_rules/1/typo': 'unknown field' });
    expect(await details({ id: first?.id })).toEqual({
      '/ip_policy_rules': 'shows rules; set that',
      '/ip_policy_rules/1/id': 'is set by the service',
    });
    expect(await read()).toEqual(view);
  });

  test('refuses the id of another rule or of none, and names its place', async () => {
    const { address, view, rules, read } = await policy();
    const [first, second] = rules;
    const swapped = await admin.put(address, { rules: [{ ...first, id: second?.id }, second] });
    expect(swapped.error.details['/rules/0/id']).toBe('is set by the service');
    const none = await admin.put(address, {
      rules: [first, { cidr: '198.51.100.0/24', action: 'deny', id: newId('ipr') }],
    });
    expect(none.error.details['/rules/1/id']).toBe('is set by the service');
    const shown = await admin.put(address, { ...view, ip_policy_rules: [first] });
    expect(shown.error.details['/ip_policy_rules']).toBe('shows rules; set that');
    expect(await read()).toEqual(view);
    const fresh = { cidr: '198.51.100.0/24', action: 'deny', id: null, uri: '' };
    expect((await admin.put(address, { rules: [...rules, fresh], uri: '' })).status).toBe(200);
  });
});

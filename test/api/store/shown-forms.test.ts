/** What the first answers to creates look like after an upgrade that has changed how resources are shown. */
import { expect, test } from 'vitest';
import { migrate, migrations } from '../../../src/api/store/migrate.ts';
import { apiKey } from '../../../src/resources/api-key.ts';
import { httpsEdgeRoute } from '../../../src/resources/https-edge-route.ts';
import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { sshHostCertificate } from '../../../src/resources/ssh-host-certificate.ts';
import { createTestDatabase } from '../../harness.ts';
import { withClient } from './schema/recorded-rows.ts';

const BASE = 'https://tunnels.test/prefix';
const id = (prefix: string) => `${prefix}_01k9zq3v5hf8svx2r4c6y7n0wd`;
const shared = {
  created_at: '2026-11-21T13:36:08.350Z',
  description: '"expires_at":"2099-01-01T00:00:00.500Z"',
  metadata: null,
};
const edge = `${BASE}/edges/https/${id('edghts')}`;

const ANSWERS = [
  {
    view: apiKey.view,
    before: {
      id: id('ak'),
      uri: `${BASE}/api_keys/x`,
      ...shared,
      token: null,
      owner_id: id('usr'),
      expires_at: '2099-01-01T00:00:00.500Z',
    },
    after: { expires_at: '2099-01-01T00:00:00Z' },
  },
  {
    view: ipPolicyRule.view,
    before: {
      id: id('ipr'),
      uri: `${BASE}/ip_policy_rules/${id('ipr')}`,
      ...shared,
      cidr: '10.0.0.0/8',
      action: 'deny',
      ip_policy_id: id('ipp'),
    },
    after: { ip_policy: { id: id('ipp'), uri: `${BASE}/ip_policies/${id('ipp')}` } },
  },
  {
    view: httpsEdgeRoute.view,
    before: {
      id: id('edghtsrt'),
      uri: `${edge}/routes/${id('edghtsrt')}`,
      ...shared,
      edge_id: id('edghts'),
      match: '/',
      match_type: 'exact_path',
      backend: null,
      modules: [],
    },
    after: { edge: { id: id('edghts'), uri: edge } },
  },
  {
    view: sshHostCertificate.view,
    before: {
      id: id('shcrt'),
      uri: `${BASE}/ssh_host_certificates/x`,
      ...shared,
      public_key: 'k',
      key_type: 'rsa',
      ssh_certificate_authority_id: id('sshca'),
      principals: [],
      valid_after: '2026-11-21T13:36:08.000Z',
      valid_until: '2027-11-21T13:36:08.000Z',
      certificate: 'c',
    },
    after: { valid_after: '2026-11-21T13:36:08Z', valid_until: '2027-11-21T13:36:08Z' },
  },
];

test('a kept first answer is shown as this release shows resources', async () => {
  const url = await createTestDatabase();
  const all = await migrations();
  await migrate(
    url,
    all.filter(({ name }) => name < '0017'),
  );
  await withClient(url, async (client) => {
    const text = `
      insert into idempotency_keys (principal, digest, fingerprint, resource_id, resource_path, status, body, created_at)
      values ('usr', $1, 'f', $1, '/', 201, $2, now())`;
    for (const { before } of ANSWERS) await client.query(text, [before.id, JSON.stringify(before)]);
    await migrate(url);
    for (const { view, before, after } of ANSWERS) {
      const { rows } = await client.query('select body from idempotency_keys where digest = $1', [before.id]);
      const shown: unknown = rows[0]?.body;
      expect(shown).toMatchObject({ ...shared, ...after });
      expect(view.strict().parse(shown)).toEqual(shown);
    }
  });
});

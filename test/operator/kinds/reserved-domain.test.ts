/** What a ReservedDomain shows and compares. */
import { describe, expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { conditionsOf, recordsOf, reservedDomainKind } from '../../../src/operator/kinds/reserved-domain.ts';

type Domain = Parameters<typeof recordsOf>[0];

const CERTIFICATE = { id: 'cert_01jd0000000000000000000000', uri: 'https://api.example.com/tls_certificates/cert_1' };
const POLICY = { authority: 'letsencrypt', private_key_type: 'rsa' as const };
const TIME = '2026-11-22T10:00:00.000Z';
const job = (error_code: null | 'DNS_ERROR' | 'INTERNAL_ERROR', msg = 'waiting') => ({
  error_code,
  msg,
  started_at: null,
  retries_at: null,
});

function domain(given: Partial<Domain> = {}): Domain {
  return {
    id: 'rd_01jd0000000000000000000000',
    uri: 'https://api.example.com/reserved_domains/rd_1',
    created_at: TIME,
    description: null,
    metadata: null,
    domain: 'app.example.net',
    region: null,
    cname_target: 'x.tunnel.example.com',
    certificate: null,
    certificate_management_policy: null,
    certificate_management_status: null,
    acme_challenge_cname_target: null,
    http_endpoint_configuration: null,
    https_endpoint_configuration: null,
    ...given,
  };
}

test.each([
  [{ cname_target: null }, []],
  [{}, ['app.example.net x.tunnel.example.com']],
  [
    { domain: '*.app.example.net', acme_challenge_cname_target: 'y' },
    ['*.app.example.net x.tunnel.example.com', '_acme-challenge.app.example.net y'],
  ],
])('a domain with %j needs the records %j', (given, records) => {
  expect(recordsOf(domain(given)).map(({ name, target }) => `${name} ${target}`)).toEqual(records);
});

test.each([
  ['nothing asked for', {}, 'NotRequested', 'NotChecked'],
  ['a certificate given', { certificate: CERTIFICATE }, 'Issued', 'NotChecked'],
  ['below a service domain', { cname_target: null }, 'NotRequested', 'NotNeeded'],
  [
    'one being issued',
    { certificate_management_status: { renews_at: null, provisioning_job: job(null) } },
    'Pending',
    'NotChecked',
  ],
  [
    'records missing',
    { certificate_management_status: { renews_at: null, provisioning_job: job('DNS_ERROR') } },
    'DNSError',
    'DNSError',
  ],
  [
    'an authority in trouble',
    { certificate_management_status: { renews_at: null, provisioning_job: job('INTERNAL_ERROR') } },
    'InternalError',
    'NotChecked',
  ],
  [
    'one issued',
    { certificate: CERTIFICATE, certificate_management_status: { renews_at: TIME, provisioning_job: null } },
    'Issued',
    'Checked',
  ],
  [
    'one issued whose renewal fails',
    {
      certificate: CERTIFICATE,
      certificate_management_status: { renews_at: TIME, provisioning_job: job('DNS_ERROR') },
    },
    'Issued',
    'DNSError',
  ],
])('with %s, CertificateReady and DNSConfigured say why', (_, given, ready, dns) => {
  const { CertificateReady, DNSConfigured } = conditionsOf(domain(given));
  expect([CertificateReady.reason, DNSConfigured.reason]).toEqual([ready, dns]);
});

describe('the certificate of a domain', () => {
  const external = reservedDomainKind.external(createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k' }));
  const base = { domain: 'app.example.net', deletionPolicy: 'Delete', managementPolicy: 'Manage' };
  const automatic = { ...base, certificateManagementPolicy: { authority: 'letsencrypt' } };
  test.each([
    ['is its own business while it has a policy', automatic, { certificate_management_policy: POLICY }, []],
    ['is another if one is named', { ...base, certificateRef: 'cert_2' }, {}, ['certificateRef']],
    ['goes if none is named', base, {}, ['certificateRef']],
    ['makes way for a policy', automatic, {}, ['certificateRef', 'certificateManagementPolicy']],
  ])('%s', (_, spec, given, changes) => {
    expect(external.changes(spec as never, domain({ certificate: CERTIFICATE, ...given }))).toEqual(changes);
  });
});

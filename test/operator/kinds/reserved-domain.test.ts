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
  started_at: null as string | null,
  retries_at: null as string | null,
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

const NO_CERTIFICATE = 'NotRequested: The domain has no certificate';
const IN_USE = 'Issued: In use';
const UNCHECKED = 'NotChecked: The service checks the DNS records only when it issues a certificate';
const status = (renews_at: string | null, provisioning_job: ReturnType<typeof job> | null) => ({
  certificate_management_status: { renews_at, provisioning_job },
});

test.each([
  ['no certificate requested', {}, NO_CERTIFICATE, UNCHECKED],
  ['a certificate of its own', { certificate: CERTIFICATE }, IN_USE, UNCHECKED],
  [
    'a name below a service domain',
    { cname_target: null },
    NO_CERTIFICATE,
    'NotNeeded: The domain is below a domain of the service',
  ],
  ['an issuance to be started', status(null, null), 'Pending: waiting to be started', UNCHECKED],
  ['a running issuance', status(null, job(null, 'asks the authority')), 'Pending: asks the authority', UNCHECKED],
  ['missing DNS records', status(null, job('DNS_ERROR', 'no CNAME')), 'DNSError: no CNAME', 'DNSError: no CNAME'],
  [
    'a failing authority',
    status(null, job('INTERNAL_ERROR', 'the authority is away')),
    'InternalError: the authority is away',
    UNCHECKED,
  ],
  [
    'an issued certificate',
    { certificate: CERTIFICATE, ...status(TIME, null) },
    IN_USE,
    'Checked: The service has found the records',
  ],
  [
    'an issued certificate whose renewal fails',
    { certificate: CERTIFICATE, ...status(TIME, job('DNS_ERROR', 'no CNAME any more')) },
    'Issued: In use; renewal: no CNAME any more',
    'DNSError: no CNAME any more',
  ],
])('with %s, CertificateReady and DNSConfigured say why', (_, given, ready, dns) => {
  const { CertificateReady, DNSConfigured } = conditionsOf(domain(given));
  expect([CertificateReady, DNSConfigured].map(({ reason, message }) => `${reason}: ${message}`)).toEqual([ready, dns]);
});

const later = (ms: number) => new Date(Date.parse(TIME) + ms);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

test.each([
  ['has just started', { started_at: later(DAY).toISOString() }, 10_000],
  ['started twenty minutes ago', { started_at: later(DAY - 20 * MINUTE).toISOString() }, 5 * MINUTE],
  ['started an hour ago', { started_at: later(DAY - 60 * MINUTE).toISOString() }, 10 * MINUTE],
  ['tries again in five minutes', { retries_at: later(DAY + 5 * MINUTE).toISOString() }, 5 * MINUTE],
  ['tries again tomorrow', { retries_at: later(2 * DAY).toISOString() }, 10 * MINUTE],
  ['is trying again', { started_at: TIME, retries_at: later(DAY - 1).toISOString() }, 10_000],
])('a domain is observed again by the times of its job, which %s', (_, times, expected) => {
  const given = domain(status(null, { ...job(null), ...times }));
  const at = reservedDomainKind.refreshAt?.(given, later(DAY));
  expect(at && at.getTime() - later(DAY).getTime()).toBe(expected);
});

describe('the certificate of a domain', () => {
  const external = reservedDomainKind.external(createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k' }));
  const base = { domain: 'app.example.net', deletionPolicy: 'Delete', managementPolicy: 'Manage' };
  const automatic = { ...base, certificateManagementPolicy: { authority: 'letsencrypt' } };
  test.each([
    ['is left to the service under a policy', automatic, { certificate_management_policy: POLICY }, []],
    ['changes if the spec refers to another', { ...base, certificateRef: 'cert_2' }, {}, ['certificateRef']],
    ['is removed if the spec refers to none', base, {}, ['certificateRef']],
    [
      'is removed with a policy that is not declared',
      base,
      { certificate_management_policy: POLICY },
      ['certificateRef', 'certificateManagementPolicy'],
    ],
    ['gives way to a declared policy', automatic, {}, ['certificateRef', 'certificateManagementPolicy']],
  ])('%s', (_, spec, given, changes) => {
    expect(external.changes(spec as never, domain({ certificate: CERTIFICATE, ...given }))).toEqual(changes);
  });
});

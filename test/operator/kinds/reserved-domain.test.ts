/** What a ReservedDomain shows and compares. */
import { describe, expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import {
  certificateNews,
  conditionsOf,
  recordsOf,
  reservedDomainKind,
} from '../../../src/operator/kinds/reserved-domain.ts';

type Domain = Parameters<typeof conditionsOf>[0];

const CERTIFICATE = { id: 'cert_01jd0000000000000000000000', uri: 'https://api.example.com/tls_certificates/cert_1' };
const ATTACHED = {
  id: CERTIFICATE.id,
  subject_alternative_names: { dns_names: ['app.example.net'], ips: [] },
  not_before: '2026-11-01T00:00:00.000Z',
  not_after: '2027-02-01T00:00:00.000Z',
  chain_not_after: '2027-02-01T00:00:00.000Z' as string | null,
  extended_key_usages: ['serverAuth'],
};
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
const IN_USE = 'Issued: In use until 2027-02-01T00:00:00.000Z';
const IN_USE_ONE = { certificate: CERTIFICATE, attached: ATTACHED };
const UNCHECKED = 'NotChecked: The service checks the DNS records only when it issues a certificate';
const status = (renews_at: string | null, provisioning_job: ReturnType<typeof job> | null) => ({
  certificate_management_status: { renews_at, provisioning_job },
});

test.each([
  ['no certificate requested', {}, NO_CERTIFICATE, UNCHECKED],
  ['a certificate of its own', IN_USE_ONE, IN_USE, UNCHECKED],
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
    { ...IN_USE_ONE, ...status(TIME, null) },
    IN_USE,
    'Checked: The service has found the records',
  ],
  [
    'an issued certificate whose renewal fails',
    { ...IN_USE_ONE, ...status(TIME, job('DNS_ERROR', 'no CNAME any more')) },
    `${IN_USE}; renewal: no CNAME any more`,
    'DNSError: no CNAME any more',
  ],
])('with %s, CertificateReady and DNSConfigured say why', (_, given, ready, dns) => {
  const { CertificateReady, DNSConfigured } = conditionsOf(domain(given), new Date(TIME));
  expect([CertificateReady, DNSConfigured].map(({ reason, message }) => `${reason}: ${message}`)).toEqual([ready, dns]);
});

const THE_ONE = `the certificate ${CERTIFICATE.id}`;
test.each([
  ['for its name', {}, IN_USE],
  ['for a wildcard above it', { subject_alternative_names: { dns_names: ['*.example.net'], ips: [] } }, IN_USE],
  [
    'for another name',
    { subject_alternative_names: { dns_names: ['shop.example.com'], ips: [] } },
    `NameMismatch: ${THE_ONE} is for shop.example.com, not for app.example.net`,
  ],
  ['that ends now', { chain_not_after: TIME, not_after: TIME }, `Expired: ${THE_ONE} expired at ${TIME}; renew it`],
  ['of an older release that ends now', { chain_not_after: null, not_after: TIME }, /^Expired: the certificate /],
  ['whose issuer has ended', { chain_not_after: TIME }, `Expired: an issuer in the chain of ${THE_ONE} expired at`],
  [
    'whose issuer ends first',
    { chain_not_after: '2027-01-01T00:00:00.000Z' },
    /^Issued: In use until [^;]+; an issuer in its chain/,
  ],
  ['that begins later', { not_before: '2026-12-01T00:00:00.000Z' }, `NotYetValid: ${THE_ONE} is not valid before 2026`],
  [
    'for clients',
    { extended_key_usages: ['clientAuth', '1.2.3'] },
    /^Issued: In use until .* clientAuth, 1\.2\.3 without/,
  ],
  ['for anything', { extended_key_usages: ['anyExtendedKeyUsage'] }, IN_USE],
  ['without purposes', { extended_key_usages: [] }, IN_USE],
])('with a certificate %s, CertificateReady says so', (_, given, expected) => {
  const attached = { ...ATTACHED, ...given };
  const { reason, message } = conditionsOf(
    domain({ certificate: CERTIFICATE, attached }),
    new Date(TIME),
  ).CertificateReady;
  const said = `${reason}: ${message}`;
  if (expected === IN_USE) expect(said).toBe(expected);
  else expect(said).toMatch(expected);
});

test('with a certificate that the API key may not see, CertificateReady is unknown', () => {
  const found = conditionsOf(domain({ certificate: CERTIFICATE }), new Date(TIME)).CertificateReady;
  expect(found).toMatchObject({ status: 'Unknown', reason: 'NotChecked' });
});

test.each([
  ['begins', { not_before: '2026-11-22T10:01:00.000Z' }, 60_000],
  ['ends', { chain_not_after: '2026-11-22T10:02:00.000Z' }, 120_000],
  ['has ended', { chain_not_after: TIME }, undefined],
])('a domain is observed again when its certificate %s', (_, given, expected) => {
  const now = new Date(TIME);
  const attached = { ...ATTACHED, ...given };
  const at = reservedDomainKind.refreshAt?.(domain({ certificate: CERTIFICATE, attached }), now);
  expect(at && at.getTime() - now.getTime()).toBe(expected);
});

const later = (ms: number) => new Date(Date.parse(TIME) + ms);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

test.each([
  ['has just started', { started_at: later(DAY).toISOString() }, 3_000],
  ['started twenty minutes ago', { started_at: later(DAY - 20 * MINUTE).toISOString() }, 5 * MINUTE],
  ['started an hour ago', { started_at: later(DAY - 60 * MINUTE).toISOString() }, 10 * MINUTE],
  ['tries again in five minutes', { retries_at: later(DAY + 5 * MINUTE).toISOString() }, 5 * MINUTE],
  ['tries again tomorrow', { retries_at: later(2 * DAY).toISOString() }, 10 * MINUTE],
  ['is trying again', { started_at: TIME, retries_at: later(DAY - 1).toISOString() }, 3_000],
])('a domain is observed again by the times of its job, which %s', (_, times, expected) => {
  const given = domain(status(null, { ...job(null), ...times }));
  const at = reservedDomainKind.refreshAt?.(given, later(DAY));
  expect(at && at.getTime() - later(DAY).getTime()).toBe(expected);
});

const END = ATTACHED.chain_not_after ?? '';
const AUTOMATIC = { certificate_management_policy: POLICY, ...status(TIME, null) };
const RENEWED = { ...AUTOMATIC, ...IN_USE_ONE };
const saying = (message: string) => ({
  conditions: [{ type: 'CertificateReady', status: 'True' as const, reason: 'x', message, lastTransitionTime: TIME }],
});

test.each([
  ['is issued', RENEWED, {}, [`Normal CertificateIssued: The certificate ${CERTIFICATE.id} is in use until ${END}`]],
  [
    'is renewed',
    RENEWED,
    { expiresAt: TIME },
    [`Normal CertificateRenewed: The certificate ${CERTIFICATE.id} is in use until ${END}`],
  ],
  ['stays', RENEWED, { expiresAt: END }, []],
  ["is the user's own", IN_USE_ONE, {}, []],
  ['fails', status(null, job('DNS_ERROR', 'no CNAME')), {}, ['Warning CertificateFailed: no CNAME']],
  ['fails as before', status(null, job('DNS_ERROR', 'no CNAME')), saying('no CNAME'), []],
  [
    'fails while another is in use',
    { ...RENEWED, ...status(TIME, job('INTERNAL_ERROR', 'away')) },
    { expiresAt: END, ...saying('In use; renewal: no CNAME') },
    ['Warning CertificateFailed: away'],
  ],
])('an automatic certificate that %s makes these Events', (_, given, before, events) => {
  const said = certificateNews(domain(given), before).map(
    ({ type, reason, message }) => `${type} ${reason}: ${message}`,
  );
  expect(said).toEqual(events);
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

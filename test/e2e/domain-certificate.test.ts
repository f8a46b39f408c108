/** Whether the certificate of a reserved domain is for it, and valid: by the object that it names, and by an id. */
import { expect, test } from 'vitest';
import { makeCertificate, type Wanted } from '../../dev/fixtures/x509.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'domain-certificate' });
const { client } = stack;

const CERTIFICATES = ours('tlscertificates');
const DOMAINS = ours('reserveddomains');

const SECOND = 1000;
const DAY = 86_400 * SECOND;
const inTime = (ms: number) => new Date(Date.now() + ms);
const forHost = (host: string, more: Wanted = {}) =>
  makeCertificate({ subject: 'CN=x', ca: false, names: [{ type: 'dns', value: host }], ...more });

async function tlsSecret(name: string, host: string, more: Wanted = {}) {
  const { pem, keyPem } = await forHost(host, more);
  const stringData = { 'tls.crt': pem, 'tls.key': keyPem };
  return { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: { name }, stringData };
}

const domain = (name: string, certificateRef: object) =>
  manifest('ReservedDomain', name, { domain: `${name}.example.net`, certificateRef });

/** Waits until CertificateReady has the reason. */
const certified = (name: string, reason: string) =>
  eventually(async () => {
    const seen = await stack.see(DOMAINS, name);
    const found = findCondition(seen.status.conditions ?? [], 'CertificateReady');
    expect(found).toMatchObject({ reason, status: reason === 'Issued' ? 'True' : 'False' });
    return { ...seen, message: found?.message ?? '' };
  });

test('a certificate for another name is not attached, and named together with the domain', async () => {
  await stack.apply(
    await tlsSecret('named', 'shop.example.com'),
    manifest('TLSCertificate', 'named', { secretRef: { name: 'named' } }),
    domain('named', { name: 'named' }),
  );
  const { message, ready } = await certified('named', 'NameMismatch');
  expect(message).toMatch(
    /^spec\.certificateRef: the certificate cert_\w+ is for shop\.example\.com, not for named\.example\.net$/,
  );
  expect(ready).toMatchObject({ status: 'False', reason: 'NameMismatch', message });

  await stack.apply(await tlsSecret('named', '*.example.net'));
  await certified('named', 'Issued');
  const { status } = await stack.ready(DOMAINS, 'named');
  const current = (await client.reservedDomains.get(String(status.id))).certificate;

  await stack.apply(await tlsSecret('named', 'shop.example.com'));
  await certified('named', 'NameMismatch');
  expect((await client.reservedDomains.get(String(status.id))).certificate).toEqual(current);
  await stack.remove(DOMAINS, 'named');
  await stack.remove(CERTIFICATES, 'named');
});

const made = async (host: string, more: Wanted = {}, issuer = '') => {
  const { pem, keyPem } = await forHost(host, more);
  return (await client.tlsCertificates.create({ certificate_pem: pem + issuer, private_key_pem: keyPem })).id;
};

test('a certificate that is named by its id shows when it is not valid, and the domain is Ready', async () => {
  const root = await makeCertificate({ subject: 'CN=Root', notAfter: inTime(10_000 * DAY) });
  const issuer = await makeCertificate({ subject: 'CN=Old', issuer: root, notAfter: inTime(-DAY) });
  const cases = {
    past: [await made('past.example.net', { notAfter: inTime(-DAY) }), 'Expired', /^the certificate cert_\w+ expired/],
    chain: [await made('chain.example.net', { issuer }, issuer.pem), 'Expired', /^an issuer in the chain of/],
    future: [await made('future.example.net', { notBefore: inTime(DAY) }), 'NotYetValid', /is not valid before 20/],
    client: [await made('client.example.net', { purposes: ['1.3.6.1.5.5.7.3.2'] }), 'Issued', /without serverAuth/],
    good: [await made('good.example.net', { issuer: root }, root.pem), 'Issued', /^In use until [^;]+$/],
  } as const;
  await stack.apply(...Object.entries(cases).map(([name, [id]]) => domain(name, { id })));
  for (const [name, [, reason, message]] of Object.entries(cases)) {
    expect((await certified(name, reason)).message).toMatch(message);
    await stack.ready(DOMAINS, name);
  }
  await stack.remove(DOMAINS, ...Object.keys(cases));
});

test('a certificate expires by itself, and one from before the rule shows after a restart', async () => {
  await stack.apply(
    domain('brief', { id: await made('brief.example.net', { notAfter: inTime(5 * SECOND) }) }),
    domain('early', { id: await made('early.example.net') }),
  );
  await certified('early', 'Issued');
  await certified('brief', 'Expired');
  expect(await stack.metric('tunnel_operator_expired_objects', { kind: 'ReservedDomain' })).toBe(1);
  const { status } = await stack.ready(DOMAINS, 'early');
  const id = (await client.reservedDomains.get(String(status.id))).certificate?.id;
  const names = { dns_names: ['other.example.net'], ips: [] };
  await stack.restart(() =>
    stack.sql('update tls_certificates set subject_alternative_names = $2 where id = $1', [id, names]),
  );
  expect((await certified('early', 'NameMismatch')).message).toContain('is for other.example.net, not for early.');
  await stack.ready(DOMAINS, 'early');
  await stack.remove(DOMAINS, 'brief', 'early');
});

test('a TLSCertificate shows what clients will refuse, and ends with its chain', async () => {
  const issuer = await makeCertificate({ subject: 'CN=Brief', notAfter: inTime(4 * SECOND) });
  const { stringData, ...secret } = await tlsSecret('remarked', 'a.example.net', {
    issuer,
    purposes: ['1.3.6.1.5.5.7.3.2'],
  });
  await stack.apply(
    { ...secret, stringData: { ...stringData, 'tls.crt': stringData['tls.crt'] + issuer.pem } } as never,
    manifest('TLSCertificate', 'remarked', { secretRef: { name: 'remarked' } }),
  );
  const { ready, status } = await stack.ready(CERTIFICATES, 'remarked');
  expect(status.expiresAt).toBe((await client.tlsCertificates.get(String(status.id))).chain_not_after);
  expect(ready?.message).toMatch(/an issuer in its chain expires first, at 20\S+; .*clientAuth without serverAuth/);
  const { ready: ended } = await stack.reason(CERTIFICATES, 'remarked', 'Ready', 'Expired');
  expect(ended?.message).toMatch(
    /^an issuer in the chain of \S+ expired at .*: renew the certificate, with its issuers/,
  );
  expect(await stack.metric('tunnel_operator_expired_objects', { kind: 'TLSCertificate' })).toBe(1);
  await stack.remove(CERTIFICATES, 'remarked');
});

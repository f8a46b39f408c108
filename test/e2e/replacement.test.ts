/**
 * A resource that the API cannot update is replaced. Referring objects switch to the new one, and the old one is
 * deleted once nothing uses it. guarding.all.test.ts covers routes that are moved.
 */
import { describe, expect, test } from 'vitest';
import { tlsSecret } from '../../dev/fixtures/source-texts.ts';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'replace' });
const { client } = stack;

const CERTIFICATES = ours('tlscertificates');
const DOMAINS = ours('reserveddomains');
const AUTHORITIES = ours('certificateauthorities');

async function certificateFor(name: string, host: string) {
  const { pem, keyPem } = await makeCertificate({
    subject: `CN=${host}`,
    ca: false,
    names: [{ type: 'dns', value: host }],
  });
  return { pem, secret: tlsSecret(name, { chain: pem, key: keyPem }) };
}

const certificatesInApi = async () => (await Array.fromAsync(client.tlsCertificates.list())).map(({ id }) => id);

describe('a TLSCertificate', () => {
  const host = 'shop.example.com';

  test('follows a renewed Secret; its domain gets the new certificate, and the old one is deleted', async () => {
    const first = await certificateFor('shop-tls', host);
    await stack.apply(
      manifest('ReservedDomain', 'shop', { domain: host, certificateRef: { name: 'shop' } }),
      manifest('TLSCertificate', 'shop', { secretRef: { name: 'shop-tls' } }),
      first.secret,
    );
    const domain = await stack.ready(DOMAINS, 'shop');
    const before = await stack.ready(CERTIFICATES, 'shop');
    expect(await client.tlsCertificates.get(String(before.status.id))).toMatchObject({ certificate_pem: first.pem });
    expect(JSON.stringify(before.object)).not.toContain('PRIVATE KEY');

    const second = await certificateFor('shop-tls', host);
    await stack.apply(second.secret);
    const id = await stack.newIdOf(CERTIFICATES, 'shop', before.status.id);
    expect(await client.tlsCertificates.get(id)).toMatchObject({ certificate_pem: second.pem });
    await eventually(async () => {
      const { certificate } = await client.reservedDomains.get(String(domain.status.id));
      expect(certificate?.id).toBe(id);
      expect(await certificatesInApi()).toEqual([id]);
    });
    await eventually(async () => {
      expect((await stack.ready(CERTIFICATES, 'shop')).status.retiring).toBeUndefined();
    });
    const reasons = (await stack.events('shop')).map(({ reason }) => reason);
    expect(reasons).toEqual(expect.arrayContaining(['Replaced', 'Updated']));
    // The replacement is not mistaken for drift.
    expect(reasons).not.toContain('DriftCorrected');
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ['whose key does not match its certificate', {}, /key/i],
    ['whose certificate is not PEM', { 'tls.crt': 'none' }, /PEM/],
  ])('is not replaced from a Secret %s; the old one stays in use', async (_, certificate, message) => {
    const { status: domain } = await stack.ready(DOMAINS, 'shop');
    const [before] = await certificatesInApi();
    const [one, other] = [await certificateFor('shop-tls', host), await certificateFor('shop-tls', host)];
    const { 'tls.key': key } = other.secret.stringData ?? {};
    const wrong = { ...one.secret, stringData: { ...one.secret.stringData, 'tls.key': key, ...certificate } };
    // Not `apply`, which fails on a warning from the API server.
    expect(await stack.tryApply(wrong)).toMatchObject({ code: 0 });
    const { ready } = await stack.reason(CERTIFICATES, 'shop', 'Ready', 'Rejected');
    expect(ready?.message).toMatch(message);
    expect(await certificatesInApi()).toEqual([before]);
    expect((await client.reservedDomains.get(String(domain.id))).certificate?.id).toBe(before);
    await stack.apply(other.secret);
    await eventually(async () => expect(await certificatesInApi()).not.toContain(before));
    await stack.ready(CERTIFICATES, 'shop');
  });

  test('leaves nothing behind when deleted with its domain', async () => {
    await stack.run('delete', `${CERTIFICATES.plural},${DOMAINS.plural}`, '--all', '--timeout=30s');
    expect(await certificatesInApi()).toEqual([]);
  });
});

test('a replaced resource is deleted once nothing uses it, and does not hold up its object', async () => {
  const [one, other] = await Promise.all([makeCertificate(), makeCertificate()]);
  await stack.apply(manifest('CertificateAuthority', 'used', { caPem: { value: one.pem } }));
  const old = await stack.idOf(AUTHORITIES, 'used');
  // An edge outside the cluster uses the old authority.
  const edge = await client.tlsEdges.create({});
  await client.tlsEdgeModules(edge.id).mutualTls.put({ certificate_authority_ids: [old] });
  await stack.apply(manifest('CertificateAuthority', 'used', { caPem: { value: other.pem } }));
  await stack.newIdOf(AUTHORITIES, 'used', old);
  await stack.apply(manifest('CertificateAuthority', 'used', { caPem: { value: other.pem }, description: 'goes on' }));
  expect((await stack.ready(AUTHORITIES, 'used')).status.retiring).toMatchObject([{ id: old }]);
  await client.tlsEdges.delete(edge.id);
  expect((await stack.reconciled(AUTHORITIES, 'used')).status).not.toHaveProperty('retiring');
  await expect(client.certificateAuthorities.get(old)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await stack.remove(AUTHORITIES, 'used');
});

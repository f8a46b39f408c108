/**
 * A resource that the API cannot update is replaced. Referring objects switch to the new one, and the old one is
 * deleted once nothing uses it. guarding.all.test.ts covers routes that are moved.
 */
import { describe, expect, test } from 'vitest';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { type Manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'replace' });
const { client } = stack;

const CERTIFICATES = ours('tlscertificates');
const DOMAINS = ours('reserveddomains');
const AUTHORITIES = ours('certificateauthorities');

const object = (kind: string, name: string, spec: object, annotations = {}): Manifest => ({
  apiVersion: `${GROUP}/${VERSION}`,
  kind,
  metadata: { name, annotations },
  spec,
});

/** A Secret as cert-manager writes it. */
async function tlsSecret(name: string, host: string) {
  const { pem, keyPem } = await makeCertificate({
    subject: `CN=${host}`,
    ca: false,
    names: [{ type: 'dns', value: host }],
  });
  const stringData = { 'tls.crt': pem, 'tls.key': keyPem };
  const manifest = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: { name }, stringData };
  return { pem, manifest };
}

const certificatesInApi = async () => (await Array.fromAsync(client.tlsCertificates.list())).map(({ id }) => id);

describe('a TLSCertificate', () => {
  const host = 'shop.example.com';

  test('follows a renewed Secret; its domain gets the new certificate, and the old one is deleted', async () => {
    const first = await tlsSecret('shop-tls', host);
    await stack.apply(
      object('ReservedDomain', 'shop', { domain: host, certificateRef: { name: 'shop' } }),
      object('TLSCertificate', 'shop', { secretRef: { name: 'shop-tls' } }),
      first.manifest,
    );
    const domain = await stack.ready(DOMAINS, 'shop');
    const before = await stack.ready(CERTIFICATES, 'shop');
    expect(await client.tlsCertificates.get(String(before.status.id))).toMatchObject({ certificate_pem: first.pem });
    expect(JSON.stringify(before.object)).not.toContain('PRIVATE KEY');

    const second = await tlsSecret('shop-tls', host);
    await stack.apply(second.manifest);
    const id = await eventually(async () => {
      const { status } = await stack.ready(CERTIFICATES, 'shop');
      expect(status.id).not.toBe(before.status.id);
      return String(status.id);
    });
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
    const [one, other] = [await tlsSecret('shop-tls', host), await tlsSecret('shop-tls', host)];
    const { 'tls.key': key } = other.manifest.stringData;
    const wrong = { ...one.manifest, stringData: { ...one.manifest.stringData, 'tls.key': key, ...certificate } };
    // Not `apply`, which fails on a warning from the API server.
    expect(await stack.tryApply(wrong)).toMatchObject({ code: 0 });
    const { ready } = await stack.reason(CERTIFICATES, 'shop', 'Ready', 'Rejected');
    expect(ready?.message).toMatch(message);
    expect(await certificatesInApi()).toEqual([before]);
    expect((await client.reservedDomains.get(String(domain.id))).certificate?.id).toBe(before);
    await stack.apply(other.manifest);
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
  await stack.apply(object('CertificateAuthority', 'used', { caPem: { value: one.pem } }));
  const old = String((await stack.ready(AUTHORITIES, 'used')).status.id);
  // An edge outside the cluster uses the old authority.
  const edge = await client.tlsEdges.create({});
  await client.tlsEdgeModules(edge.id).mutualTls.put({ certificate_authority_ids: [old] });
  await stack.apply(object('CertificateAuthority', 'used', { caPem: { value: other.pem } }));
  await eventually(async () => expect((await stack.ready(AUTHORITIES, 'used')).status.id).not.toBe(old));
  await stack.apply(object('CertificateAuthority', 'used', { caPem: { value: other.pem }, description: 'goes on' }));
  expect((await stack.ready(AUTHORITIES, 'used')).status.retiring).toMatchObject([{ id: old }]);
  await client.tlsEdges.delete(edge.id);
  expect((await stack.reconciled(AUTHORITIES, 'used')).status).not.toHaveProperty('retiring');
  await expect(client.certificateAuthorities.get(old)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await stack.remove(AUTHORITIES, 'used');
});

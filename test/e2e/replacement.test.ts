/**
 * What the API cannot update is replaced: referrers move on, and the old resource goes when nothing needs it any more.
 * moving-routes.test.ts has more, of routes.
 */
import { describe, expect, test } from 'vitest';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { eventually, type Manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'replace' });
const { client } = stack;

const CERTIFICATES = ours('tlscertificates');
const DOMAINS = ours('reserveddomains');
const AUTHORITIES = ours('certificateauthorities');
const TLS_EDGES = ours('tlsedges');
const TLS_MODULES = ours('tlsedgemodules');

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

  test('follows its Secret when that is renewed; its domain moves on, and the old certificate goes', async () => {
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
    // Nobody has changed anything behind anybody's back.
    expect(reasons).not.toContain('DriftCorrected');
  });

  test('says in an Event what outside the cluster holds on to the old one', async () => {
    const first = await tlsSecret('held-tls', 'held.example.com');
    await stack.apply(object('TLSCertificate', 'held', { secretRef: { name: 'held-tls' } }), first.manifest);
    const before = String((await stack.ready(CERTIFICATES, 'held')).status.id);
    const outside = await client.reservedDomains.create({ domain: 'held.example.com', certificate_id: before });
    await stack.apply((await tlsSecret('held-tls', 'held.example.com')).manifest);
    await eventually(async () => {
      const { reason, message } = (await stack.events('held')).find((each) => each.reason === 'DeletionBlocked') ?? {};
      expect(reason).toBe('DeletionBlocked');
      expect(message).toContain(`${before} is superseded, and cannot be deleted yet: `);
      expect(message).toContain(outside.id);
    });
    expect((await stack.ready(CERTIFICATES, 'held')).status.id).not.toBe(before);
    await client.reservedDomains.delete(outside.id);
    await stack.remove(CERTIFICATES, 'held');
    expect(await certificatesInApi()).not.toContain(before);
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ['whose key and certificate do not belong together', {}, /key/i],
    ['that holds no PEM', { 'tls.crt': 'none' }, /PEM/],
  ])('is not replaced by a Secret %s; the old one stays in use', async (_, certificate, message) => {
    const { status: domain } = await stack.ready(DOMAINS, 'shop');
    const [before] = await certificatesInApi();
    const [one, other] = [await tlsSecret('shop-tls', host), await tlsSecret('shop-tls', host)];
    const { 'tls.key': key } = other.manifest.stringData;
    const wrong = { ...one.manifest, stringData: { ...one.manifest.stringData, 'tls.key': key, ...certificate } };
    // The API server warns as well.
    expect(await stack.tryApply(wrong)).toMatchObject({ code: 0 });
    const { ready } = await stack.reason(CERTIFICATES, 'shop', 'Ready', 'Rejected');
    expect(ready?.message).toMatch(message);
    expect(await certificatesInApi()).toEqual([before]);
    expect((await client.reservedDomains.get(String(domain.id))).certificate?.id).toBe(before);
    await stack.apply(other.manifest);
    await eventually(async () => expect(await certificatesInApi()).not.toContain(before));
    await stack.ready(CERTIFICATES, 'shop');
  });

  test('that is deleted with its domain leaves nothing behind', async () => {
    await stack.run('delete', `${CERTIFICATES.plural},${DOMAINS.plural}`, '--all', '--timeout=30s');
    expect(await certificatesInApi()).toEqual([]);
  });
});

test('a CertificateAuthority follows its Secret: its certificate is uploaded anew, its referrer moves on, and the old one goes', async () => {
  const name = 'devices';
  const [one, other] = await Promise.all([makeCertificate(), makeCertificate()]);
  const secret = ({ pem }: typeof one) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    stringData: { ca: pem },
  });
  await stack.apply(
    secret(one),
    object('CertificateAuthority', name, { caPem: { secretKeyRef: { name, key: 'ca' } } }),
    object('TLSEdge', name, {}),
    object('TLSEdgeModules', name, {
      tlsEdgeRef: { name },
      mutualTls: { certificateAuthorityRefs: [{ name }] },
    }),
  );
  const { status: before } = await stack.ready(AUTHORITIES, name);
  const { status: edge } = await stack.ready(TLS_EDGES, name);
  await stack.ready(TLS_MODULES, name);
  const trusted = async () => {
    const { certificate_authorities } = await client.tlsEdgeModules(String(edge.id)).mutualTls.get();
    return certificate_authorities.map(({ id }) => id);
  };
  expect(await trusted()).toEqual([before.id]);

  await stack.apply(secret(other));
  const id = await eventually(async () => {
    const { status } = await stack.ready(AUTHORITIES, name);
    expect(status.id).not.toBe(before.id);
    return String(status.id);
  });
  expect(await client.certificateAuthorities.get(id)).toMatchObject({ ca_pem: other.pem });
  await eventually(async () => expect(await trusted()).toEqual([id]));
  await eventually(async () => expect(await stack.remoteIds()).not.toContain(before.id));
  for (const each of [TLS_MODULES, TLS_EDGES, AUTHORITIES]) await stack.remove(each, name);
  expect(await stack.remoteIds()).toEqual([]);
});

test('a CertificateAuthority gets a new certificate, and so a new id', async () => {
  const [one, other] = await Promise.all([makeCertificate(), makeCertificate()]);
  await stack.apply(object('CertificateAuthority', 'devices', { caPem: { value: one.pem } }));
  const before = await stack.ready(AUTHORITIES, 'devices');
  await stack.apply(object('CertificateAuthority', 'devices', { caPem: { value: other.pem }, description: 'new' }));
  await eventually(async () => {
    const { status } = await stack.ready(AUTHORITIES, 'devices');
    expect(status.id).not.toBe(before.status.id);
  });
  const all = await eventually(async () => {
    const found = await Array.fromAsync(client.certificateAuthorities.list());
    expect(found).toHaveLength(1);
    return found;
  });
  expect(all).toMatchObject([{ ca_pem: other.pem, description: 'new' }]);
  await stack.remove(AUTHORITIES, 'devices');
});

test('what was replaced is deleted once nothing uses it any more, and holds up nothing', async () => {
  const [one, other] = await Promise.all([makeCertificate(), makeCertificate()]);
  await stack.apply(object('CertificateAuthority', 'used', { caPem: { value: one.pem } }));
  const old = String((await stack.ready(AUTHORITIES, 'used')).status.id);
  // Somebody outside the cluster.
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

test('a CertificateAuthority that adopts another certificate is not replaced, but says that it differs', async () => {
  const [one, other] = await Promise.all([makeCertificate(), makeCertificate()]);
  const { id } = await client.certificateAuthorities.create({ ca_pem: one.pem });
  const adopt = { [`${GROUP}/adopt`]: id };
  await stack.apply(object('CertificateAuthority', 'adopted', { caPem: { value: other.pem } }, adopt));
  const { ready } = await stack.reason(AUTHORITIES, 'adopted', 'Ready', 'Rejected');
  expect(ready?.message).toContain(`${id} differs in spec.caPem`);
  await stack.remove(AUTHORITIES, 'adopted');
  expect(await client.certificateAuthorities.get(id)).toMatchObject({ ca_pem: one.pem });
  await client.certificateAuthorities.delete(id);
});

test('a CertificateAuthority whose new text was never accepted stays, when the old one is put back', async () => {
  const { pem } = await makeCertificate();
  const authority = (value: string) => object('CertificateAuthority', 'garbled', { caPem: { value } });
  await stack.apply(authority(pem));
  const { status: before } = await stack.ready(AUTHORITIES, 'garbled');
  await stack.apply(authority('-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n'));
  await stack.reason(AUTHORITIES, 'garbled', 'Ready', 'Rejected');
  await stack.apply(authority(pem));
  expect((await stack.ready(AUTHORITIES, 'garbled')).status.id).toBe(before.id);
  expect(await stack.remoteIds()).toEqual([before.id]);
  await stack.remove(AUTHORITIES, 'garbled');
});

/** Keys and certificates are Ready until they expire, and again once they get a later expiry. */
import { expect, test } from 'vitest';
import { hostKeyLine } from '../../dev/fixtures/ssh-keys.ts';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'ends' });

const authority = await stack.client.sshCertificateAuthorities.create({});
const publicKey = { value: hostKeyLine() };
const KEYS = ours('apikeys');
const PLURALS = ['apikeys', 'sshhostcertificates', 'certificateauthorities', 'tlscertificates'];

/** Applies an object of each kind that expires at `end`. */
async function applyAll(end: Date): Promise<void> {
  const second = end.toISOString().replace(/\.\d+Z$/, 'Z');
  const { pem, keyPem } = await makeCertificate({ ca: false, notAfter: end });
  const stringData = { 'tls.crt': pem, 'tls.key': keyPem };
  const tls = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: { name: 'tls' }, stringData };
  const object = (kind: string, spec: object) => manifest(kind, 'ending', spec);
  await stack.apply(
    object('APIKey', { expiresAt: second }),
    object('SSHHostCertificate', {
      publicKey,
      sshCertificateAuthorityRef: { id: authority.id },
      validUntil: second,
      secret: { name: 'host-ending' },
    }),
    object('CertificateAuthority', { caPem: { value: (await makeCertificate({ notAfter: end })).pem } }),
    tls,
    object('TLSCertificate', { secretRef: { name: 'tls' } }),
  );
}

const allReady = () => Promise.all(PLURALS.map((plural) => stack.ready(ours(plural), 'ending')));
const creates = () => stack.metric('tunnel_operator_api_requests_total', { method: 'POST' });

test('an expired key or certificate is not Ready until it gets a later expiry', { timeout: 120_000 }, async () => {
  // Leaves time to see all objects Ready first. The times in certificates are whole seconds.
  await applyAll(new Date(Math.ceil(Date.now() / 1000) * 1000 + 20_000));
  const before = await allReady();
  await stack.apply(
    manifest(
      'APIKey',
      'watched',
      { managementPolicy: 'Observe' },
      { [ANNOTATION.adopt]: before[0]?.status.id as string },
    ),
  );
  await stack.ready(KEYS, 'watched');
  await stack.restart();
  for (const plural of PLURALS) {
    const { ready, synced } = await stack.reason(ours(plural), 'ending', 'Ready', 'Expired');
    expect(ready, plural).toMatchObject({ status: 'False', message: expect.stringMatching(/ expired at 20.+: /) });
    expect(synced, plural).toMatchObject({ status: 'True', reason: 'UpToDate' });
  }
  await stack.reason(KEYS, 'watched', 'Ready', 'Expired');
  expect(await stack.metric('tunnel_operator_expired_objects')).toBe(PLURALS.length + 1);
  // Expiry does not make the operator issue anything, even after another restart.
  await stack.restart();
  await Promise.all(PLURALS.map((plural) => stack.reconciled(ours(plural), 'ending')));
  expect(await creates()).toBe(0);

  await applyAll(new Date('2099-01-01T00:00:00Z'));
  const after = await eventually(allReady);
  // A key keeps its id with a later expiry. A certificate contains its expiry, so it is replaced.
  expect(after.map(({ status }, n) => status.id === before[n]?.status.id)).toEqual([true, false, false, false]);
});

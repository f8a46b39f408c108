/** Keys and certificates that come to their end: they are Ready until then, and again once they have been given more time. */
import { describe, expect, test } from 'vitest';
import { hostKeyLine } from '../../dev/fixtures/ssh-keys.ts';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { eventually, type Manifest, manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'ends' });
const { client } = stack;

const authority = await client.sshCertificateAuthorities.create({});
const publicKey = { value: hostKeyLine() };
const FAR = new Date('2099-01-01T00:00:00Z');

interface Ending {
  kind: string;
  plural: string;
  /** What to apply for it to end then. */
  until: (end: Date) => Promise<Manifest[]>;
}

const second = (time: Date) => time.toISOString().replace(/\.\d+Z$/, 'Z');

const endings: Ending[] = [
  {
    kind: 'APIKey',
    plural: 'apikeys',
    until: async (end) => [manifest({ name: 'APIKey' }, 'ending', { expiresAt: second(end) })],
  },
  {
    kind: 'SSHHostCertificate',
    plural: 'sshhostcertificates',
    until: async (end) => [
      manifest({ name: 'SSHHostCertificate' }, 'ending', {
        publicKey,
        sshCertificateAuthorityRef: { id: authority.id },
        validUntil: second(end),
        secret: { name: 'host-ending' },
      }),
    ],
  },
  {
    kind: 'CertificateAuthority',
    plural: 'certificateauthorities',
    until: async (end) => [
      manifest({ name: 'CertificateAuthority' }, 'ending', {
        caPem: { value: (await makeCertificate({ notAfter: end })).pem },
      }),
    ],
  },
  {
    kind: 'TLSCertificate',
    plural: 'tlscertificates',
    until: async (end) => {
      const { pem, keyPem } = await makeCertificate({ ca: false, notAfter: end });
      const stringData = { 'tls.crt': pem, 'tls.key': keyPem };
      return [
        { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: { name: 'tls-ending' }, stringData },
        manifest({ name: 'TLSCertificate' }, 'ending', { secretRef: { name: 'tls-ending' } }),
      ];
    },
  },
];

/** Everything must have been seen Ready before. Certificates have whole seconds. */
const soon = () => new Date(Math.ceil(Date.now() / 1000) * 1000 + 20_000);
const passed = (end: Date) => eventually(async () => expect(Date.now()).toBeGreaterThan(end.getTime()), 60_000);
const applyAll = async (end: Date) => {
  const manifests = await Promise.all(endings.map(({ until }) => until(end)));
  await stack.apply(...manifests.flat());
};
const allReady = () => Promise.all(endings.map(({ plural }) => stack.ready(ours(plural), 'ending')));
const creates = () => stack.metric('tunnel_operator_api_requests_total', { method: 'POST' });
/** That all have ended, and say so themselves. */
async function allExpired(): Promise<void> {
  for (const { kind, plural } of endings) {
    const { ready, synced } = await stack.reason(ours(plural), 'ending', 'Ready', 'Expired');
    expect(ready, kind).toMatchObject({ status: 'False', message: expect.stringMatching(/ expired at 20.+: /) });
    expect(synced, kind).toMatchObject({ status: 'True', reason: 'UpToDate' });
  }
}

describe('what comes to its end', { timeout: 120_000 }, () => {
  test('is not Ready from then on, until it is given more time', async () => {
    await applyAll(soon());
    const before = await allReady();
    await allExpired();
    // Nothing is issued anew for that.
    const made = await creates();
    expect(made).toBeGreaterThanOrEqual(endings.length);
    await Promise.all(endings.map(({ plural }) => stack.reconciled(ours(plural), 'ending')));
    expect(await creates()).toBe(made);
    await applyAll(FAR);
    const after = await eventually(allReady);
    // A key goes on with a later end; a certificate has it in itself.
    expect(after.map(({ status }, n) => status.id === before[n]?.status.id)).toEqual([true, false, false, false]);
  });

  test('is known to the operator that is started before', async () => {
    await applyAll(soon());
    await allReady();
    await stack.restart();
    await allExpired();
  });

  test('says so after a restart, and also where it is only observed', async () => {
    const end = soon();
    await applyAll(end);
    const [key] = await allReady();
    await stack.apply({
      ...manifest({ name: 'APIKey' }, 'watched', { managementPolicy: 'Observe' }),
      metadata: { name: 'watched', annotations: { 'tunnel-operator.dev/adopt': String(key?.status.id) } },
    });
    await stack.ready(ours('apikeys'), 'watched');
    await stack.restart(() => passed(end));
    await allExpired();
    await stack.reason(ours('apikeys'), 'watched', 'Ready', 'Expired');
  });
});

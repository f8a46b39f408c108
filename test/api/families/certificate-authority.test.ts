/** PEM of every kind; test/api/certificates tests the reasons for which a certificate is refused. */
import { X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { readCertificates } from '../../../src/api/certificates/x509.ts';
import { certificateAuthority } from '../../../src/resources/certificate-authority.ts';
import { startTestApi } from '../harness.ts';

const { admin, logs } = await startTestApi();
const path = '/certificate_authorities';
const { pem, keyPem } = await makeCertificate({});
const der = Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');
const encoded = (bytes: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64')}\n-----END CERTIFICATE-----\n`;

test('what `openssl x509 -text` writes before the PEM is kept', async () => {
  const text = 'Certificate:\n    Data:\n        Version: 3 (0x2)\n        Subject: CN=Test CA\n\n        04:d2:f1\n';
  const made = await admin.post(path, { ca_pem: text + pem });
  expect(made.as(certificateAuthority.view).ca_pem).toBe(text + pem);
});

test('a private key is refused without repeating it', async () => {
  const secret = keyPem.split('\n')[1] ?? '';
  const reply = await admin.post(path, { ca_pem: keyPem });
  expect(reply.error.details['/ca_pem']).toMatch(/is a private key/);
  expect(reply.text).not.toContain(secret);
  expect(logs.join('\n')).not.toContain(secret);
});

test('a damaged certificate never causes an internal error', async () => {
  const statuses = new Set<number>();
  for (let at = 0; at < der.length; at += 3) {
    const damaged = Buffer.from(der);
    damaged.writeUInt8(der.readUInt8(at) ^ 0xff, at);
    statuses.add((await admin.post(path, { ca_pem: encoded(damaged) })).status);
  }
  expect([...statuses].filter((status) => status !== 201 && status !== 400)).toEqual([]);
});

test('OpenSSL reads every text that is accepted, however its lines are broken', () => {
  const lines = pem.trimEnd().split('\n');
  const ends = fc.constantFrom('\n', '\n', '\n', '\r\n', ' \n', '\n ', '\n\n', '\r', '\t\r\n', '', '\f\n', '\u00a0\n');
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(ends, { minLength: lines.length, maxLength: lines.length }), ends, (after, before) => {
      const text = before + lines.map((line, index) => line + after[index]).join('');
      if ('reason' in readCertificates(text)) return;
      accepted++;
      new X509Certificate(text);
    }),
    { numRuns: 3000 },
  );
  expect(accepted).toBeGreaterThan(50);
});

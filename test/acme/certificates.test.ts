import { expect, test } from 'vitest';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { certificateId } from '../../src/acme/certificates.ts';

test('a certificate is named by its issuer and its serial number', async () => {
  const authorityKey = '69885B6B87464041E1B37B847BA0AE2CDE01C8D4';
  const { pem } = await makeCertificate({ authorityKey, serialNumber: '87654321' });
  // The example of RFC 9773, section 4.1.
  expect(certificateId(pem)).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
});

test('a certificate that does not name the key of its issuer has no name', async () => {
  expect(certificateId((await makeCertificate()).pem)).toBeUndefined();
});

import { X509Certificate } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { tlsCertificate } from '../../../src/resources/tls-certificate.ts';
import { skipFor } from '../../skip.ts';
import { ADMIN_KEY, noAuthority, pointToService, reserve, startInstallation, untilIssued } from './installation.ts';

describe('with an authority that refuses half of the nonces', skipFor(noAuthority), async () => {
  if (noAuthority !== undefined) return;
  const installation = await startInstallation({ refusedNonces: 50, reusedAuthorizations: 50 });
  const api = await installation.start();
  afterAll(async () => {
    await api.stop();
    await installation.stop();
  });

  test.each([
    ['app.users.example', 'rsa'],
    ['*.wild.users.example', 'ecdsa'],
    ['bücher.users.example', 'ecdsa'],
    ['own.service.example', 'ecdsa'],
  ] as const)('%s gets a certificate with a key of type %s', async (name, type) => {
    const reserved = await reserve(api, name, { private_key_type: type });
    pointToService(installation, reserved);
    const { certificate, certificate_management_status: status } = await untilIssued(api, reserved);
    const shown = await api.ask(ADMIN_KEY, `/tls_certificates/${certificate?.id}`);
    const { certificate_pem, private_key_type, issued_at } = tlsCertificate.view.parse(JSON.parse(shown.text));
    const leaf = new X509Certificate(certificate_pem);
    expect(leaf.subjectAltName).toBe(`DNS:${reserved.domain}`);
    expect(private_key_type).toBe(type);
    expect(issued_at).not.toBeNull();
    expect(Date.parse(status?.renews_at ?? '')).toBeLessThan(leaf.validToDate.getTime());
  });
});

/** TLS certificates (extension): a chain and its private key, for serving endpoints. */
import { z } from 'zod';
import { certificateFields } from './certificate-fields.ts';
import { derived, described, required, resource, writeOnly } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { bytes, pattern, timestamp } from './formats/text.ts';

export const MAX_CHAIN_BYTES = 64 * 1024;
export const MAX_CHAIN_LENGTH = 10;
const MAX_KEY_BYTES = 16 * 1024;

export const tlsKeyType = z.enum(['rsa', 'ecdsa', 'ed25519']);

const NAMES = 'Host names and IP addresses that the certificate is for.';
const alternativeNames = z
  .object({
    dns_names: z
      .array(z.string())
      .meta({ description: 'Host names, including wildcards.', examples: [['www.example.com', '*.example.com']] }),
    ips: z.array(z.string()).meta({ description: 'IP addresses.', examples: [['192.0.2.1']] }),
  })
  .meta({ id: 'SubjectAlternativeNames' });

export const tlsCertificate = resource({
  name: 'tls_certificate',
  title: 'TLSCertificate',
  prefix: 'cert',
  path: '/tls_certificates',
  collection: 'tls_certificates',
  tag: 'TLS certificates',
  extension: true,
  description: 'A certificate chain and its private key. No response shows the key.',
  fields: {
    ...described('What the certificate is for.'),
    certificate_pem: required(
      bytes(MAX_CHAIN_BYTES).meta({
        description: `The certificate chain in PEM, at most ${MAX_CHAIN_LENGTH} certificates: the server's own first, then its issuers in any order. Text before each is allowed.`,
        examples: ['-----BEGIN CERTIFICATE-----\nMIIBdTCCARugAwIBAgIB…\n-----END CERTIFICATE-----\n'],
        ...pattern(
          /-----BEGIN CERTIFICATE-----/,
          'must hold a certificate in PEM, with the line -----BEGIN CERTIFICATE-----',
        ),
      }),
      { update: false },
    ),
    private_key_pem: writeOnly(
      bytes(MAX_KEY_BYTES).meta({
        description: 'Private key of the first certificate, in PEM, without a passphrase. Text before it is allowed.',
        examples: ['-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49…\n-----END PRIVATE KEY-----\n'],
        ...pattern(/-----BEGIN /, 'must be a private key in PEM, as in -----BEGIN PRIVATE KEY-----'),
      }),
    ),
    ...certificateFields,
    chain_not_after: derived(
      timestamp().nullable().meta({
        description:
          'When the first certificate of the chain expires, which may be an issuer. Null if the chain was uploaded to a release that did not record it.',
      }),
    ),
    subject_alternative_names: derived(alternativeNames.meta({ description: NAMES }), 'jsonb'),
    serial_number: derived(
      z
        .string()
        .meta({ description: 'Serial number of the certificate, in lower-case hex.', examples: ['04d2f1a09b3c'] }),
    ),
    private_key_type: derived(tlsKeyType.meta({ description: 'Type of the private key.' })),
    issued_at: derived(
      timestamp()
        .nullable()
        .meta({ description: 'When the service obtained the certificate, unless it was uploaded.' }),
    ),
  },
  samples: {
    least: { certificate_pem: '{pem.leaf}', private_key_pem: '{pem.leaf_key}' },
    full: { ...DESCRIBED, certificate_pem: '{pem.leaf}', private_key_pem: '{pem.leaf_key}' },
    change: CHANGED,
  },
});

/** Certificate authorities: X.509 roots and intermediates against which client certificates are checked. */

import { certificateFields } from './certificate-fields.ts';
import { described, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { bytes, pattern } from './formats/text.ts';

/** A certificate of a CA takes 1 to 3 KiB. */
export const MAX_CA_PEM_BYTES = 32 * 1024;

export const certificateAuthority = resource({
  name: 'certificate_authority',
  title: 'CertificateAuthority',
  prefix: 'ca',
  path: '/certificate_authorities',
  collection: 'certificate_authorities',
  tag: 'Certificate authorities',
  description:
    'An X.509 certificate authority that client certificates are validated against. Once it has expired, no client ' +
    'certificate is valid.',
  fields: {
    ...described('What the authority issues certificates for.'),
    ca_pem: required(
      bytes(MAX_CA_PEM_BYTES).meta({
        description:
          'Certificate of the authority, in PEM: exactly one, marked as a CA in its basic constraints. Text before it is allowed.',
        examples: ['-----BEGIN CERTIFICATE-----\nMIIBdTCCARugAwIBAgIB…\n-----END CERTIFICATE-----\n'],
        ...pattern(
          /-----BEGIN CERTIFICATE-----/,
          'must hold a certificate in PEM, with the line -----BEGIN CERTIFICATE-----',
        ),
      }),
      { update: false },
    ),
    ...certificateFields,
  },
  samples: {
    least: { ca_pem: '{pem.ca}' },
    full: { ...DESCRIBED, ca_pem: '{pem.ca}' },
    change: CHANGED,
  },
});

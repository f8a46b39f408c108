/** `TLSCertificate`: the certificate and key of a `kubernetes.io/tls` Secret. Follows its renewals. */
import type { View } from '../../resources/definition/resource.ts';
import { tlsCertificate } from '../../resources/tls-certificate.ts';
import { tlsSecretRef } from '../managed/declaration/input-schemas.ts';
import { certificateRemarks, endingFirst, endOfChain } from './certificate-remarks.ts';
import { plainKind } from './plain-kind.ts';

const { certificate_pem: chain, private_key_pem: key } = tlsCertificate.fields;

export const tlsCertificateKind = plainKind(tlsCertificate, {
  kind: 'TLSCertificate',
  shortNames: ['tcert'],
  description: 'A certificate chain and its private key, from a kubernetes.io/tls Secret such as cert-manager writes.',
  calls: (client) => client.tlsCertificates,
  replaced: ['certificate_pem', 'private_key_pem'],
  spec: { secretRef: tlsSecretRef({ 'tls.crt': chain.input, 'tls.key': key.input }) },
  given: { certificate_pem: 'secretRef["tls.crt"]', private_key_pem: 'secretRef["tls.key"]' },
  expand: ({ secretRef, ...others }) => ({
    ...others,
    certificatePem: secretRef['tls.crt'],
    privateKeyPem: secretRef['tls.key'],
  }),
  end: {
    of: (certificate: View<typeof tlsCertificate>) => endOfChain(certificate),
    what: (certificate: View<typeof tlsCertificate>) => endingFirst(certificate, certificate.id),
    remedy: 'renew the certificate, with its issuers, in the Secret that spec.secretRef names',
  },
  readyRemarks: (certificate: View<typeof tlsCertificate>) => certificateRemarks(certificate),
  columns: [
    {
      name: 'Secret',
      type: 'string',
      jsonPath: '.spec.secretRef.name',
      description: 'The Secret that holds the certificate.',
    },
    'subject_common_name',
    'not_after',
  ],
});

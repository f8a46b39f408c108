/** How certificate families name what an X.509 certificate may be used for: the words of RFC 5280. */
import { z } from 'zod';
import { derived } from './resource.ts';
import { timestamp } from './text.ts';

/** Section 4.2.1.3, in the order of the bits. */
export const KEY_USAGES = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const;

export type KeyUsage = (typeof KEY_USAGES)[number];

/** Section 4.2.1.12. */
export const EXTENDED_KEY_USAGES: Readonly<Record<string, string>> = {
  '2.5.29.37.0': 'anyExtendedKeyUsage',
  '1.3.6.1.5.5.7.3.1': 'serverAuth',
  '1.3.6.1.5.5.7.3.2': 'clientAuth',
  '1.3.6.1.5.5.7.3.3': 'codeSigning',
  '1.3.6.1.5.5.7.3.4': 'emailProtection',
  '1.3.6.1.5.5.7.3.8': 'timeStamping',
  '1.3.6.1.5.5.7.3.9': 'OCSPSigning',
};

const names = Object.values(EXTENDED_KEY_USAGES).join(', ');

/** What every family of certificates derives from the PEM. */
export const certificateFields = {
  subject_common_name: derived(
    z
      .string()
      .nullable()
      .meta({ description: 'Common name of the subject; null when it has none.', examples: ['Example CA'] }),
  ),
  not_before: derived(timestamp().meta({ description: 'Start of the validity.' })),
  not_after: derived(timestamp().meta({ description: 'End of the validity.' })),
  key_usages: derived(
    z.array(z.enum(KEY_USAGES)).meta({
      description: 'What the key may be used for, by RFC 5280; empty when the certificate does not say.',
      examples: [['keyCertSign', 'cRLSign']],
    }),
  ),
  extended_key_usages: derived(
    z.array(z.string()).meta({
      description: `Purposes of the key: ${names}, or an object identifier; empty when the certificate does not say.`,
      examples: [['clientAuth']],
    }),
  ),
};

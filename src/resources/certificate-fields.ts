/** The fields that every family of X.509 certificates derives from its PEM. */
import { z } from 'zod';
import { derived } from './definition/resource.ts';
import { timestamp } from './formats/text.ts';
import { EXTENDED_KEY_USAGES, KEY_USAGES } from './formats/x509-names.ts';

const names = Object.values(EXTENDED_KEY_USAGES).join(', ');

export const certificateFields = {
  subject_common_name: derived(
    z
      .string()
      .nullable()
      .meta({ description: 'Common name of the subject; null if it has none.', examples: ['Example CA'] }),
  ),
  not_before: derived(timestamp().meta({ description: 'Start of the validity period.' })),
  not_after: derived(timestamp().meta({ description: 'End of the validity period.' })),
  key_usages: derived(
    z.array(z.enum(KEY_USAGES)).meta({
      description:
        'What the key may be used for, in the terms of RFC 5280; empty if the certificate does not restrict it.',
      examples: [['keyCertSign', 'cRLSign']],
    }),
  ),
  extended_key_usages: derived(
    z.array(z.string()).meta({
      description: `Purposes of the key: ${names}, or an object identifier; empty if the certificate does not restrict them.`,
      examples: [['clientAuth']],
    }),
  ),
};

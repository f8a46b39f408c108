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
      .meta({ description: 'Common name of the subject, if it has one.', examples: ['Example CA'] }),
  ),
  not_before: derived(timestamp().meta({ description: 'When the certificate becomes valid.' })),
  not_after: derived(timestamp().meta({ description: 'When the certificate expires.' })),
  key_usages: derived(
    z.array(z.enum(KEY_USAGES)).meta({
      description:
        'What the key may be used for, in the terms of RFC 5280. Empty if the certificate does not restrict it.',
      examples: [['keyCertSign', 'cRLSign']],
    }),
  ),
  extended_key_usages: derived(
    z.array(z.string()).meta({
      description: `Purposes of the key: ${names}, or an object identifier. Empty if the certificate does not restrict them.`,
      examples: [['clientAuth']],
    }),
  ),
};

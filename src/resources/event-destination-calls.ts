/** What the operations of event destinations take and return, besides the destination itself. */
import { z } from 'zod';
import { SIGNING_SECRET_PREFIX, signingSecret } from './event-destination.ts';

const DEFAULT_OVERLAP = 24 * 60 * 60;
/** In seconds. */
export const LONGEST_OVERLAP = 30 * DEFAULT_OVERLAP;
const OVERLAP_RANGE = `must be a whole number from 0 to ${LONGEST_OVERLAP}`;

const overlap = z
  .number()
  .int(OVERLAP_RANGE)
  .min(0, OVERLAP_RANGE)
  .max(LONGEST_OVERLAP, OVERLAP_RANGE)
  .meta({
    description: 'Seconds for which the replaced secret signs events too, by a second signature. Default a day.',
    examples: [DEFAULT_OVERLAP],
  });

/** The body of a rotation of the signing secret. */
export const signingSecretRotation = z
  .strictObject({
    signing_secret: signingSecret
      .meta({
        description: 'The new secret. Generated if left out.',
        examples: [`${SIGNING_SECRET_PREFIX}${'A'.repeat(32)}`],
      })
      .nullish(),
    overlap: overlap.nullish(),
  })
  .transform((given) => ({
    signing_secret: given.signing_secret ?? undefined,
    overlapMs: (given.overlap ?? DEFAULT_OVERLAP) * 1000,
  }))
  .meta({ id: 'SigningSecretRotation' });

/** What became of the test of a destination. */
export const destinationTest = z
  .object({
    delivered: z.boolean().meta({ description: 'Whether the receiver took the event, as it would take any other.' }),
    status_code: z
      .int()
      .nullable()
      .meta({ description: 'HTTP status of the answer; null if there was none.', examples: [204] }),
    answer: z
      .string()
      .nullable()
      .meta({ description: 'The beginning of the body of the answer, without secrets.', examples: ['ok'] }),
    error: z
      .string()
      .nullable()
      .meta({
        description: 'Why the event was not delivered; null if it was.',
        examples: ['the receiver answered 503'],
      }),
    duration_ms: z.int().meta({ description: 'Milliseconds that it took.', examples: [42] }),
  })
  .meta({ id: 'EventDestinationTest' });

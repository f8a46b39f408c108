/** The spec members `secret` and `rotation`: where an issued token or secret is stored, and when it is replaced. */
import { z } from 'zod';
import type { CelRule } from '../managed/declaration/cel.ts';
import type { Handout } from '../managed/declaration/handout.ts';
import { durationMessage, durationRules, isDuration, matchesDuration } from './cel/duration.ts';
import { annotationRules, labelRules, labelValueRules, secretKeyRules, secretNameRules } from './cel/secret-names.ts';

export const durationField = (about: string) =>
  z.string().max(32).refine(isDuration, durationMessage).meta({
    description: about,
    'x-cel': durationRules,
  });

const stringMap = (about: string, rules: readonly CelRule[], value = z.string()) =>
  z.record(z.string(), value).optional().meta({ description: about, maxProperties: 64, 'x-cel': rules });

export const secret = ({ what, key, idKey, suffix }: Handout) =>
  z
    .object({
      name: z
        .string()
        .max(253)
        .optional()
        .meta({
          description: `Name of the Secret. Defaults to the name of this object${suffix && `, followed by ${suffix}`}. The operator never overwrites a Secret that it did not create.`,
          'x-cel': secretNameRules,
        }),
      key: z
        .string()
        .max(253)
        .default(key)
        .meta({
          description: `Key of the Secret that holds the ${what}. The key ${idKey} holds the id.`,
          'x-cel': secretKeyRules(idKey),
        }),
      template: z
        .object({
          labels: stringMap('Labels of the Secret.', labelRules, z.string().max(63).meta({ 'x-cel': labelValueRules })),
          annotations: stringMap('Annotations of the Secret.', annotationRules),
        })
        .optional()
        .meta({ description: 'Labels and annotations of the Secret.' }),
    })
    .default({ key })
    .meta({ description: `The Secret that receives the ${what}.` });

/** Guards `duration()`, which fails with a message about protocol buffers if the text is not a duration. */
const holdsDuration = (field: string) => `(has(self.${field}) && ${matchesDuration(`self.${field}`)})`;

export interface Overlap {
  /** What it means, if not how long the old value keeps working. */
  about?: string;
  /** A duration, if the API has a limit. */
  longest?: string;
}

export const rotation = (
  { what }: Handout,
  { about = `How long the old ${what} keeps working`, longest }: Overlap = {},
) =>
  z
    .object({
      interval: durationField(
        `Age at which the ${what} is replaced, at least 1m. Without it, the ${what} is replaced only on request.`,
      ).optional(),
      overlap: durationField(
        `${about} after a rotation. Defaults to 10m, or half the interval if that is shorter.${longest ? ` At most ${longest}.` : ''}`,
      ).optional(),
    })
    .optional()
    .meta({
      description: `When the ${what} is replaced.`,
      'x-cel': [
        {
          rule: `!${holdsDuration('interval')} || duration(self.interval) >= duration('1m')`,
          message: 'rotation.interval must be at least 1m',
          fieldPath: '.interval',
        },
        {
          rule: `!${holdsDuration('interval')} || !${holdsDuration('overlap')} || duration(self.overlap) < duration(self.interval)`,
          message: 'rotation.overlap must be shorter than rotation.interval',
          fieldPath: '.overlap',
        },
        ...(longest === undefined
          ? []
          : [
              {
                rule: `!${holdsDuration('overlap')} || duration(self.overlap) <= duration('${longest}')`,
                message: `rotation.overlap must be at most ${longest}`,
                fieldPath: '.overlap',
              },
            ]),
      ],
    });

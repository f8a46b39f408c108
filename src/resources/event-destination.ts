/** Event destinations (extension): where events are sent. */
import { z } from 'zod';
import { orNone } from './definition/none.ts';
import { derived, described, field, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { shortTarget, shownTarget, targetInput } from './event-target.ts';
import { pattern, text, timestamp } from './formats/text.ts';

const TARGET = { description: 'Where events are sent: a target of exactly one kind.' };
const FORMATS = z.enum(['json', 'thin']).meta({
  description:
    'Whether events have the resource as it is after the change (json), or only its id, URI and revision (thin).',
});

export const SIGNING_SECRET_PREFIX = 'whsec_';

/** As in the Standard Webhooks specification: a prefix, and 24 to 64 bytes in base64. */
export const signingSecret = text()
  .superRefine((secret, context) => {
    const encoded = secret.startsWith(SIGNING_SECRET_PREFIX) ? secret.slice(SIGNING_SECRET_PREFIX.length) : '';
    const bytes = Buffer.from(encoded, 'base64');
    if (bytes.toString('base64') !== encoded || bytes.length < 24 || bytes.length > 64) {
      const message = `must be "${SIGNING_SECRET_PREFIX}" followed by 24 to 64 bytes in base64`;
      // Without the input: it is a secret.
      context.addIssue({ code: 'custom', message, input: undefined });
    }
  })
  .meta(
    pattern(
      /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/,
      `must be "${SIGNING_SECRET_PREFIX}" followed by 24 to 64 bytes in base64`,
    ),
  );

const shownSecret = derived(
  z
    .string()
    .nullable()
    .meta({
      description: 'Secret that signs the events sent. Only the creation response shows it; afterwards it is null.',
      examples: ['whsec_…'],
    }),
  'none',
);

const MOVES = 'Deliveries change neither revision nor ETag.';
const moving = <T extends z.ZodType>(schema: T, description: string) => ({
  ...derived(schema.meta({ description })),
  movesByItself: true as const,
});

export const eventDestination = resource({
  name: 'event_destination',
  title: 'EventDestination',
  prefix: 'ed',
  path: '/event_destinations',
  collection: 'event_destinations',
  tag: 'Events',
  extension: true,
  access: 'admin',
  description: 'A target that event subscriptions can send events to.',
  fields: {
    ...described('What receives the events.'),
    format: field(FORMATS, orNone(FORMATS), 'optional', true, 'json'),
    target: { ...required(targetInput.meta(TARGET), { storage: 'jsonb' }), view: shownTarget, shorten: shortTarget },
    status: field(
      z.enum(['active', 'paused']).meta({ description: 'Whether events are sent, or wait until it is resumed.' }),
      z.never(),
      'derived',
      false,
      'active',
    ),
    paused_at: derived(timestamp().nullable().meta({ description: 'Since when it is paused.' })),
    paused_reason: derived(
      z
        .string()
        .nullable()
        .meta({
          description: 'Why it is paused: what the receiver did, or that somebody asked for it.',
          examples: ['No delivery has succeeded for three days.'],
        }),
    ),
    last_success_at: moving(timestamp().nullable(), `When a delivery last succeeded. ${MOVES}`),
    last_failure_at: moving(timestamp().nullable(), 'When a delivery last failed.'),
    failing_since: moving(
      timestamp().nullable(),
      'The first failure since the last success; null if the last delivery succeeded. After three days it is paused.',
    ),
    last_error: moving(z.string().nullable(), 'Why the last failed delivery failed; stays when later ones succeed.'),
    signing_secret_issued_at: derived(timestamp().meta({ description: 'When the signing secret was issued.' })),
    previous_signing_secret_until: moving(
      timestamp().nullable(),
      'Until when the secret before the last rotation signs events too; null if there is none, or after that time.',
    ),
    signing_secret: field(
      shownSecret.view,
      z.nullable(
        signingSecret.meta({
          description: 'Secret that signs the events sent. Generated if left out.',
          examples: [`whsec_${'A'.repeat(32)}`],
        }),
      ),
      'optional',
      false,
      null,
      'none',
    ),
  },
  samples: {
    least: { target: { webhook: { url: 'https://hooks.example.com/tunnels' } } },
    full: {
      ...DESCRIBED,
      format: 'json',
      target: { webhook: { url: 'https://hooks.example.com/tunnels' } },
      signing_secret: `${SIGNING_SECRET_PREFIX}${'A'.repeat(32)}`,
    },
    change: { ...CHANGED, target: { webhook: { url: 'https://hooks.example.com/others' } } },
  },
});

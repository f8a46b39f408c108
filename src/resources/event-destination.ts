/** Event destinations (extension): where events are sent. */
import { z } from 'zod';
import { derived, described, field, required, resource } from './resource.ts';
import { text } from './text.ts';

const MAX_URL_LENGTH = 2048;

/** An https address without what a log or a proxy would carry elsewhere. */
export const httpsUrl = text()
  .max(MAX_URL_LENGTH, `must be at most ${MAX_URL_LENGTH} characters`)
  .superRefine((input, context) => {
    const problem = urlProblem(input);
    if (problem) context.addIssue({ code: 'custom', message: problem, input });
  });

function urlProblem(input: string): string | undefined {
  if (!URL.canParse(input) || /\s/.test(input)) return 'must be an https URL';
  const { protocol, username, password } = new URL(input);
  if (protocol !== 'https:') return `must be an https URL, is ${protocol.slice(0, -1)}`;
  if (username !== '' || password !== '') return 'must not have a user name or password';
  if (input.includes('#')) return 'must not have a fragment';
  return undefined;
}

const webhookUrl = { description: 'Where deliveries are posted.', examples: ['https://hooks.example.com/tunnels'] };
const target = z.strictObject({ webhook: z.strictObject({ url: httpsUrl.meta(webhookUrl) }) });
const shownTarget = z
  .object({ webhook: z.object({ url: z.url().meta(webhookUrl) }) })
  .meta({ description: 'Exactly one kind of target.' });

export const SIGNING_SECRET_PREFIX = 'whsec_';

/** As in the Standard Webhooks specification: a prefix, and 24 to 64 bytes in base64. */
const signingSecret = text().superRefine((secret, context) => {
  const encoded = secret.startsWith(SIGNING_SECRET_PREFIX) ? secret.slice(SIGNING_SECRET_PREFIX.length) : '';
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded || bytes.length < 24 || bytes.length > 64) {
    const message = `must be "${SIGNING_SECRET_PREFIX}" followed by 24 to 64 bytes in base64`;
    // Without the input: it is a secret.
    context.addIssue({ code: 'custom', message, input: undefined });
  }
});

const shownSecret = derived(
  z
    .string()
    .nullable()
    .meta({
      description: 'Signs deliveries. In the creation response; null ever after.',
      examples: ['whsec_…'],
    }),
  'none',
);

export const eventDestination = resource({
  name: 'event_destination',
  title: 'EventDestination',
  prefix: 'ed',
  path: '/event_destinations',
  collection: 'event_destinations',
  tag: 'Events',
  access: 'admin',
  description: 'Where the events of subscriptions are sent.',
  fields: {
    ...described('What receives the events.'),
    format: field(z.enum(['json']), z.nullable(z.enum(['json'])), 'optional', true, 'json'),
    target: { ...required(target, { storage: 'jsonb' }), view: shownTarget },
    signing_secret: field(
      shownSecret.view,
      z.nullable(signingSecret.meta({ description: 'Made up when left out.', examples: [`whsec_${'A'.repeat(32)}`] })),
      'optional',
      false,
      null,
      'none',
    ),
  },
});

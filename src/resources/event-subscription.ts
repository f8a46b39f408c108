/** Event subscriptions: which types of events go to which destinations. */
import { z } from 'zod';
import { references } from './definition/reference.ts';
import { type Address, description, field, metadata, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { eventDestination } from './event-destination.ts';
import { chars, form, text } from './formats/text.ts';

export const MAX_DESTINATIONS = 20;
/** Far more types than exist. */
export const MAX_SOURCES = 500;

/** Checks only the length; the API checks that the type exists (catalogue.ts). */
const eventType = text()
  .max(128, 'must be at most 128 characters')
  .meta({ description: 'An event type; `/event_types` lists them.', examples: ['ip_policy_created.v0'] });

/** Body of `POST /event_subscriptions/{subscription_id}/sources`, and each of `sources` of a subscription. */
export const eventSourceCreate = z.strictObject({ type: eventType }).meta({ id: 'EventSourceCreate' });

/** Body of `PATCH` of a source, which has nothing that can be changed. */
export const eventSourceUpdate = z.strictObject({}).meta({ id: 'EventSourceUpdate' });

export const eventSource = z
  .object({ type: eventType, uri: z.url().meta({ description: 'Address of the source.' }) })
  .meta({ id: 'EventSource', description: 'A type of events that a subscription sends.' });

export const eventSources = z
  .object({
    sources: z.array(eventSource).meta({ description: 'The sources, oldest first.' }),
    uri: z.url().meta({ description: 'Address of the list.' }),
  })
  .meta({ id: 'EventSourceList' });

/** A source as responses show it. */
export function showSource(type: string, subscriptionUri: string): z.output<typeof eventSource> {
  return { type, uri: `${subscriptionUri}/sources/${encodeURIComponent(type)}` };
}

const sourcesInput = z
  .array(eventSourceCreate)
  .max(MAX_SOURCES, `must have at most ${MAX_SOURCES} sources`)
  .superRefine((sources, context) => {
    const types = sources.map(({ type }) => type);
    types.forEach((type, index) => {
      const first = types.indexOf(type);
      if (first === index) return;
      const message = `is already in sources[${first}]; list each type once`;
      context.addIssue({ code: 'custom', path: [index, 'type'], message, input: type });
    });
  })
  .transform((sources) => sources.map(({ type }) => type))
  .meta({ description: 'Types of the events to send, each listed once.', ...form({ uniqueItems: true }) });

const storedTypes = z.array(z.string());
const show = (stored: unknown, { uri }: Address) => storedTypes.parse(stored).map((type) => showSource(type, uri));

const DESTINATIONS = 'Event destinations that the events are sent to.';

export const eventSubscription = resource({
  name: 'event_subscription',
  title: 'EventSubscription',
  prefix: 'esb',
  path: '/event_subscriptions',
  collection: 'event_subscriptions',
  tag: 'Events',
  access: 'admin',
  description: 'Sends events of the types in its sources to its destinations.',
  fields: {
    description: description(chars(255), 'What the events are for.'),
    metadata: metadata(chars(4096)),
    sources: {
      ...field(z.array(eventSource), z.nullable(sourcesInput), 'optional', true, []),
      show,
      setInside: ['uri'],
    },
    destination_ids: references([eventDestination], 'destinations', DESTINATIONS, { max: MAX_DESTINATIONS }),
  },
  samples: {
    least: {},
    full: { ...DESCRIBED, sources: [{ type: 'ip_policy_created.v0' }], destination_ids: ['{event_destination.id}'] },
    change: CHANGED,
  },
});

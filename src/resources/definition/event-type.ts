/** The event types, as `GET /event_types` lists them. */
import { z } from 'zod';

const eventType = z.object({
  type: z.string().meta({ description: 'Name of the event type.', examples: ['ip_policy_created.v0'] }),
  description: z
    .string()
    .meta({ description: 'What has happened when such an event occurs.', examples: ['An IP policy was created.'] }),
});

export type EventType = z.output<typeof eventType>;

export const eventTypeList = z
  .object({
    event_types: z.array(eventType).meta({ description: 'All event types.' }),
    uri: z.url().meta({ description: 'Address of the list.' }),
    next_page_uri: z.url().nullable().meta({ description: 'Always null: the list has one page.' }),
  })
  .meta({ id: 'EventTypeList' });

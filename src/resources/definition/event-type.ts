/** The event types, as `GET /event_types` lists them. */
import { z } from 'zod';

const eventType = z.object({
  type: z.string().meta({ examples: ['ip_policy_created.v0'] }),
  description: z.string().meta({ examples: ['An IP policy was created.'] }),
});

export type EventType = z.output<typeof eventType>;

export const eventTypeList = z
  .object({
    event_types: z.array(eventType),
    uri: z.url(),
    next_page_uri: z.url().nullable().meta({ description: 'Always null: there is one page.' }),
  })
  .meta({ id: 'EventTypeList' });

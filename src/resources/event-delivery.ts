/** Deliveries of events (extension): what was sent where, and what came back. They can be read, and made again. */
import { z } from 'zod';
import type { Filter } from './definition/filter.ts';
import { idOf } from './definition/id.ts';
import { orNone } from './definition/none.ts';
import { EVENT_FILTERS, eventLog } from './event.ts';
import { eventDestination } from './event-destination.ts';
import { eventSubscription } from './event-subscription.ts';
import { instant, timestamp } from './formats/text.ts';

const PREFIX = 'evd';
const STATES = z.enum(['pending', 'delivered', 'failed', 'dropped']);
const ofEvent = eventLog.view.shape;

const view = z
  .object({
    id: idOf(PREFIX).meta({ description: 'Identifies the delivery.' }),
    uri: z.url().meta({ description: 'Address of the delivery.' }),
    destination_id: eventDestination.id.meta({ description: 'Where the event is sent. It may have been deleted.' }),
    subscription_ids: z
      .array(eventSubscription.id)
      .meta({ description: 'The subscriptions that asked for the event when it occurred.' }),
    event_id: ofEvent.id.meta({ description: 'Id of the event, and of the message that is sent.' }),
    type: ofEvent.type,
    resource_id: ofEvent.resource_id,
    state: STATES.meta({
      description:
        'pending: it will be sent. delivered: the receiver has taken it. failed: no attempt has succeeded within three ' +
        'days. dropped: it is not sent any more, for the reason in `error`.',
    }),
    attempts: z.int().meta({ description: 'Attempts so far, since it was last asked for.', examples: [1] }),
    created_at: timestamp().meta({ description: 'When it was decided that the event is sent there.' }),
    first_attempt_at: timestamp().nullable().meta({ description: 'When it was first attempted.' }),
    last_attempt_at: timestamp().nullable().meta({ description: 'When it was last attempted.' }),
    next_attempt_at: timestamp()
      .nullable()
      .meta({
        description:
          'When it is attempted again after a failure. Null before the first attempt: it waits behind an earlier ' +
          'delivery of the same resource, for its turn, or for its destination to be resumed.',
      }),
    status_code: z
      .int()
      .nullable()
      .meta({ description: 'HTTP status of the last answer. Null if there was none.', examples: [200] }),
    answer: z
      .string()
      .nullable()
      .meta({ description: 'The beginning of the last answer, at most 1 KiB.', examples: ['ok'] }),
    error: z
      .string()
      .nullable()
      .meta({ description: 'Why the last attempt failed, or why it was dropped.', examples: [null] }),
  })
  .meta({ id: 'EventDelivery', description: 'An event on its way to a destination, or past it.' });

/** As `resource` would declare it, if deliveries could be written. */
export const eventDelivery = {
  title: 'EventDelivery',
  prefix: PREFIX,
  path: '/event_deliveries',
  collection: 'event_deliveries',
  table: 'event_deliveries',
  access: 'admin',
  id: view.shape.id,
  view,
} as const;

const [type, resourceId] = EVENT_FILTERS;

/** What the list can be limited by, any of them together. */
export const DELIVERY_FILTERS = [
  { name: 'destination_id', field: 'destination_id', by: 'value', schema: eventDestination.id },
  { name: 'subscription_id', field: 'subscription_ids', by: 'element', schema: eventSubscription.id },
  { name: 'state', field: 'state', by: 'value', schema: STATES },
  resourceId,
  type,
] as const satisfies readonly Filter[];

export type DeliveryFilters = { readonly [N in (typeof DELIVERY_FILTERS)[number]['name']]?: string | undefined };

/** Which deliveries of a destination are made again. */
export const replay = z
  .strictObject({
    since: instant().meta({ description: 'Deliveries created at this time or later.' }),
    until: orNone(instant()).optional().meta({ description: 'Deliveries created before this time. Default: now.' }),
    only: orNone(z.enum(['all', 'failed']))
      .optional()
      .meta({
        description:
          'all: those that are delivered, failed or dropped. failed: only those that have failed. Default: all.',
      }),
    after_id: orNone(view.shape.id)
      .optional()
      .meta({ description: 'Continues after this delivery, as in `next` of a response.' }),
  })
  .meta({ id: 'EventReplay' });

export const replayed = z
  .object({
    requeued: z.int().meta({ description: 'How many deliveries this request has made pending.', examples: [12] }),
    next: z
      .object({
        since: timestamp().meta({ description: 'As in this request.' }),
        until: timestamp().meta({ description: 'As in this request, or when it was made.' }),
        only: z.enum(['all', 'failed']).meta({ description: 'As in this request.' }),
        after_id: view.shape.id,
      })
      .nullable()
      .meta({ description: 'The body of a request that continues. Null if there is nothing left.' }),
  })
  .meta({ id: 'EventReplayResult' });

/** The catalogue of event types. */
import { eventTypeList } from '../../resources/definition/event-type.ts';
import { eventSubscription } from '../../resources/event-subscription.ts';
import { CATALOGUE } from '../events/catalogue.ts';
import { operation } from '../http/operation.ts';

export const listEventTypes = operation({
  method: 'GET',
  path: '/event_types',
  operationId: 'listEventTypes',
  summary: 'List event types',
  description: 'Lists all event types that a subscription may have as sources, on one page.',
  tag: eventSubscription.tag,
  access: 'anyone',
  family: null,
  params: {},
  success: { status: 200, description: 'All event types.', schema: eventTypeList },
  handle: async ({ base }) => ({
    body: { event_types: CATALOGUE.types, uri: `${base}/event_types`, next_page_uri: null },
  }),
});

/** `EventSubscription`: which types of events go to which destinations. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { eventSubscription } from '../../resources/event-subscription.ts';
import { plainKind } from './plain-kind.ts';

const types = z.array(z.object({ type: z.string() })).transform((sources) => sources.map(({ type }) => type).sort());

export const eventSubscriptionKind = plainKind(eventSubscription, {
  kind: 'EventSubscription',
  shortNames: ['evsub'],
  calls: (client) => client.eventSubscriptions,
  // Their order says nothing.
  same: {
    sources: (desired, observed) => isDeepStrictEqual(types.safeParse(desired).data, types.safeParse(observed).data),
  },
});

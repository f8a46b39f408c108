/** `EventSubscription`: which types of events go to which destinations. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { View } from '../../resources/definition/resource.ts';
import { EVENT_TYPES } from '../../resources/event-subjects.ts';
import { eventSubscription, MAX_SOURCES } from '../../resources/event-subscription.ts';
import { form } from '../../resources/formats/text.ts';
import { plainKind } from './plain-kind.ts';

type Sources = readonly { type: string }[];

/** Their order has no meaning. */
const isSameTypes = (a: Sources, b: Sources) =>
  isDeepStrictEqual(new Set(a.map(({ type }) => type)), new Set(b.map(({ type }) => type)));

const TYPES = 'Number of event types that the subscription sends.';

export const eventSubscriptionKind = plainKind(eventSubscription, {
  kind: 'EventSubscription',
  shortNames: ['evsub'],
  calls: (client) => client.eventSubscriptions,
  spec: {
    sources: z
      // An enum, so that `kubectl apply` rejects a typo.
      .array(z.strictObject({ type: z.enum(EVENT_TYPES).meta({ description: 'An event type.' }) }))
      .max(MAX_SOURCES)
      .meta({ description: 'Types of the events to send, each listed once.', ...form({ uniqueItems: true }) })
      .default([]),
  },
  status: { eventTypes: z.int().optional().meta({ description: TYPES }) },
  describe: (_, { sources }: View<typeof eventSubscription>) => ({ eventTypes: sources.length }),
  columns: [{ name: 'Types', type: 'integer', jsonPath: '.status.eventTypes', description: TYPES }, 'destination_ids'],
  wideColumns: ['sources'],
  external: (plain) => ({
    ...plain,
    changes: (spec, remote) =>
      plain.changes(spec, remote).filter((name) => name !== 'sources' || !isSameTypes(spec.sources, remote.sources)),
  }),
});

/** `EventDestination`: where events are sent. The signing secret is stored in a Secret. */
import { eventDestination } from '../../resources/event-destination.ts';
import { handout } from '../managed/declaration/handout.ts';
import { oneTime } from './one-time.ts';
import { plainKind } from './plain-kind.ts';

const signingSecret = oneTime(
  handout(eventDestination, {
    type: 'signingSecret',
    what: 'signing secret',
    key: 'signing-secret',
    member: 'signing_secret',
    isOneTime: true,
  }),
  'How long the old destination and its signing secret stay in use',
);

export const eventDestinationKind = plainKind(eventDestination, {
  kind: 'EventDestination',
  shortNames: ['evdest'],
  description: 'A target that event subscriptions can send events to. The signing secret is kept in a Secret.',
  calls: (client) => client.eventDestinations,
  // The service generates it, so no one else knows it.
  omit: ['signing_secret'],
  spec: signingSecret.spec,
  status: signingSecret.status,
  columns: [
    {
      name: 'URL',
      type: 'string',
      jsonPath: '.spec.target.webhook.url',
      description: 'URL that events are posted to.',
    },
    ...signingSecret.columns,
  ],
  describe: signingSecret.describe,
  delivery: signingSecret.delivery,
});

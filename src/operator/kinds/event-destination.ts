/** `EventDestination`: where events are sent; the secret that signs them is stored in a Secret. */
import { eventDestination } from '../../resources/event-destination.ts';
import { handout } from '../managed/secrets/handout.ts';
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
  'How long the old destination stays, with its signing secret,',
);

export const eventDestinationKind = plainKind(eventDestination, {
  kind: 'EventDestination',
  shortNames: ['evdest'],
  description: 'Where the events of subscriptions are sent. The secret that signs them is kept in a Secret.',
  calls: (client) => client.eventDestinations,
  // The service makes it: what nobody has chosen, nobody else has.
  omit: ['signing_secret'],
  spec: signingSecret.spec,
  status: signingSecret.status,
  columns: [
    { name: 'URL', type: 'string', jsonPath: '.spec.target.webhook.url', description: 'Where events are sent.' },
    ...signingSecret.columns,
  ],
  describe: signingSecret.describe,
  delivery: signingSecret.delivery,
});

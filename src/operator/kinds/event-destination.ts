/** `EventDestination`: where events are sent. The signing secret is stored in a Secret. */
import { eventDestination } from '../../resources/event-destination.ts';
import { TARGETS } from '../../resources/event-target.ts';
import { handout } from '../managed/declaration/handout.ts';
import { camelCase } from '../managed/declaration/spec-terms.ts';
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

/** For a rule, since a schema cannot say "exactly one", and the API would refuse the object only later. */
const oneTarget = TARGETS.map((name) => `has(self.target.${camelCase(name)})`).join(', ');

export const eventDestinationKind = plainKind(eventDestination, {
  kind: 'EventDestination',
  shortNames: ['evdest'],
  description: 'A target that event subscriptions can send events to. The signing secret is kept in a Secret.',
  calls: (client) => client.eventDestinations,
  // The service generates it, so no one else knows it.
  omit: ['signing_secret'],
  sources: ['api_key', 'headers'],
  rules: [
    {
      rule: `[${oneTarget}].filter(given, given).size() == 1`,
      message: `exactly one of ${TARGETS.map(camelCase).join(', ')} must be given`,
      fieldPath: '.target',
    },
  ],
  spec: signingSecret.spec,
  status: signingSecret.status,
  columns: [
    {
      name: 'URL',
      type: 'string',
      jsonPath: '.spec.target.webhook.url',
      description: 'URL of the webhook.',
    },
    ...signingSecret.columns,
  ],
  describe: signingSecret.describe,
  delivery: signingSecret.delivery,
});

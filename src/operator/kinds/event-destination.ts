/** `EventDestination`: where events are sent. The signing secret is stored in a Secret. */
import type { View } from '../../resources/definition/resource.ts';
import { eventDestination } from '../../resources/event-destination.ts';
import { LONGEST_OVERLAP } from '../../resources/event-destination-calls.ts';
import { TARGETS } from '../../resources/event-target.ts';
import { CONDITION, REASON } from '../contract/reasons.ts';
import type { Finding } from '../managed/declaration/external.ts';
import { handout } from '../managed/declaration/handout.ts';
import { camelCase } from '../managed/declaration/spec-terms.ts';
import { WIDE } from './columns.ts';
import { ifExists, tagged } from './external-of-family.ts';
import { oneTime } from './one-time.ts';
import { plainKind } from './plain-kind.ts';

const signingSecret = oneTime(
  handout(eventDestination, {
    type: 'signingSecret',
    what: 'signing secret',
    key: 'signing-secret',
    member: 'signing_secret',
    issuedMember: 'signing_secret_issued_at',
    isOneTime: true,
  }),
  { about: 'How long events are signed with the old signing secret as well', longest: `${LONGEST_OVERLAP / 3600}h` },
);

/** For a rule, since a schema cannot say "exactly one", and the API would refuse the object only later. */
const oneTarget = TARGETS.map((name) => `has(self.target.${camelCase(name)})`).join(', ');

type Destination = View<typeof eventDestination>;

function delivering({ status, paused_reason, failing_since, last_error }: Destination): Finding {
  if (status === 'paused') return { status: 'False', reason: REASON.paused, message: paused_reason ?? 'It is paused.' };
  if (failing_since !== null) return { status: 'False', reason: REASON.failing, message: last_error ?? 'It fails.' };
  return { status: 'True', reason: REASON.active, message: 'Events are sent' };
}

/** Of a time only the hour: a status that followed each delivery would be written at each resync. */
const hourOf = (time: string | null) => (time === null ? undefined : `${time.slice(0, 13)}:00:00Z`);

export const eventDestinationKind = plainKind(eventDestination, {
  kind: 'EventDestination',
  shortNames: ['evdest'],
  description: 'A target that event subscriptions can send events to. The signing secret is kept in a Secret.',
  calls: (client) => client.eventDestinations,
  // The service generates the secret, so no one else knows it.
  omit: [
    'signing_secret',
    'signing_secret_issued_at',
    'previous_signing_secret_until',
    // What the condition Delivering says.
    'status',
    'paused_at',
    'paused_reason',
    'last_error',
  ],
  about: {
    last_success_at: 'The hour in which a delivery last succeeded, as of the last resync.',
    last_failure_at: 'The hour in which a delivery last failed, as of the last resync.',
    failing_since:
      'The first failure since the last success, as of the last resync; absent if the last delivery succeeded.',
  },
  sources: ['api_key', 'headers'],
  rules: [
    {
      rule: `[${oneTarget}].filter(given, given).size() == 1`,
      message: `exactly one of ${TARGETS.map(camelCase).join(', ')} must be given`,
      fieldPath: '.target',
    },
  ],
  external: (plain, client) => ({
    ...plain,
    rotate: (id, { overlap, ...options }) =>
      ifExists(client.eventDestinations.rotateSecret(id, { overlap }, options).then(tagged)),
  }),
  spec: signingSecret.spec,
  status: signingSecret.status,
  columns: [
    {
      name: 'URL',
      type: 'string',
      jsonPath: '.spec.target.webhook.url',
      description: 'URL of the webhook.',
    },
    {
      name: 'Delivering',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Delivering")].reason',
      description: 'Whether events are sent: Active, Paused or Failing.',
    },
    {
      name: 'Last Success',
      type: 'date',
      jsonPath: '.status.lastSuccessAt',
      description: 'The hour in which a delivery last succeeded.',
    },
    {
      name: 'Failing Since',
      type: 'date',
      jsonPath: '.status.failingSince',
      description: 'The first failure since the last success.',
      ...WIDE,
    },
    ...signingSecret.columns,
  ],
  conditions: (_, destination: Destination) => ({ [CONDITION.delivering]: delivering(destination) }),
  describe: (declared, observed: Destination, object) => ({
    ...signingSecret.describe(declared, observed, object),
    lastSuccessAt: hourOf(observed.last_success_at),
    lastFailureAt: hourOf(observed.last_failure_at),
  }),
  delivery: signingSecret.delivery,
});

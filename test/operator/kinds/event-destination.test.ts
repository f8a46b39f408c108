import { expect, test } from 'vitest';
import { eventDestinationKind } from '../../../src/operator/kinds/event-destination.ts';
import type { View } from '../../../src/resources/definition/resource.ts';
import type { eventDestination } from '../../../src/resources/event-destination.ts';
import { object } from '../objects.ts';

type Destination = View<typeof eventDestination>;

const destination = (changes: Partial<Destination>): Destination => ({
  id: 'ed_1',
  uri: 'https://tunnels.test/event_destinations/ed_1',
  created_at: '2026-11-01T00:00:00.000Z',
  description: null,
  metadata: null,
  format: 'json',
  target: { webhook: { url: 'https://hooks.tunnels.test' } },
  status: 'active',
  paused_at: null,
  paused_reason: null,
  last_success_at: null,
  last_failure_at: null,
  failing_since: null,
  last_error: null,
  signing_secret_issued_at: '2026-11-01T00:00:00.000Z',
  previous_signing_secret_until: null,
  signing_secret: null,
  ...changes,
});
const spec = eventDestinationKind.spec.parse({ target: { webhook: { url: 'https://hooks.tunnels.test' } } });
const at = '2026-11-02T10:59:01.5Z';
const FAILING = { last_failure_at: at, failing_since: at, last_error: 'the receiver answered 503' };

test.each([
  ['nothing was sent yet', {}, ['True', 'Active', 'Events are sent']],
  ['deliveries failed once', { ...FAILING, failing_since: null }, ['True', 'Active', 'Events are sent']],
  ['deliveries fail', FAILING, ['False', 'Failing', 'the receiver answered 503']],
  [
    'it is paused for that',
    { ...FAILING, status: 'paused' as const, paused_reason: 'It is gone.' },
    ['False', 'Paused', 'It is gone.'],
  ],
])('Delivering when %s', (_, changes, [status, reason, message]) => {
  const found = eventDestinationKind.conditions?.(spec, destination(changes), new Date());
  expect(found).toEqual({ Delivering: { status, reason, message } });
});

test('the status has the hour of the last success and failure, so that not every delivery changes it', () => {
  const shown = (changes: Partial<Destination>) =>
    eventDestinationKind.describe(spec, destination(changes), object({}));
  expect(shown({ last_success_at: at, ...FAILING })).toMatchObject({
    lastSuccessAt: '2026-11-02T10:00:00Z',
    lastFailureAt: '2026-11-02T10:00:00Z',
    failingSince: at,
  });
  // Not left out: a status keeps the members that are.
  const none = { lastSuccessAt: undefined, lastFailureAt: undefined, failingSince: undefined };
  expect(Object.entries(shown({}))).toEqual(expect.arrayContaining(Object.entries(none)));
});

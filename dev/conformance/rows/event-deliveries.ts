import { get, idOf, invalid, NOBODY, ok, post, type Row, refused, type Section, TIMESTAMP } from '../row.ts';

const path = '/event_deliveries';
const at = (name: string) => `${path}/{delivery.${name}}`;
const to = 'filter[destination_id]={delivery.destination_id}';
const replay = '/event_destinations/{delivery.replayed_destination_id}/replay';
const since = { since: '2020-01-01T00:00:00Z' };

const rows: Row[] = [
  {
    rule: 'What was sent to event destinations is listed, newest first, with what came back',
    ask: get(`${path}?${to}&limit=1`),
    answer: ok({
      event_deliveries: [
        {
          id: '{delivery.delivered}',
          uri: `{base}${at('delivered')}`,
          destination_id: '{delivery.destination_id}',
          subscription_ids: ['{delivery.subscription_id}'],
          event_id: '{delivery.event_id}',
          type: 'event_destination_created.v0',
          resource_id: '{delivery.destination_id}',
          state: 'delivered',
          attempts: 2,
          created_at: TIMESTAMP,
          first_attempt_at: TIMESTAMP,
          last_attempt_at: TIMESTAMP,
          next_attempt_at: null,
          status_code: 200,
          answer: 'thanks',
          error: null,
        },
      ],
      uri: `{base}${path}`,
      next_page_uri: /^{base}\/event_deliveries\?filter%5Bdestination_id%5D=ed_\w+&before_id=evd_\w+&limit=1$/,
    }),
  },
  {
    rule: 'A delivery says when it is attempted again, or why it is not',
    ask: get(at('pending')),
    answer: ok({
      id: '{delivery.pending}',
      state: 'pending',
      attempts: 1,
      next_attempt_at: TIMESTAMP,
      status_code: 503,
      error: 'The receiver answered 503.',
    }),
    later: [
      [get(at('dropped')), ok({ state: 'dropped', attempts: 0, first_attempt_at: null, error: /No subscription/ })],
      [get(at('given_up')), ok({ state: 'failed', attempts: 13, next_attempt_at: null })],
      [get(`${path}/evd_${NOBODY}`), refused('NOT_FOUND')],
    ],
  },
  {
    rule: 'Deliveries are limited by destination, subscription, state, resource, type and time, in any combination',
    ask: get(
      `${path}?${to}&filter[subscription_id]={delivery.subscription_id}&filter[resource_id]={delivery.destination_id}` +
        '&filter[state]=pending&filter[type]=event_destination_created.v0&created_after=2020-01-01T00:00:00Z',
    ),
    answer: ok({ event_deliveries: [{ id: '{delivery.pending}' }], next_page_uri: null }),
    later: [
      [get(`${path}?${to}&filter[state]=dropped`), ok({ event_deliveries: [{ id: '{delivery.dropped}' }] })],
      [get(`${path}?${to}&before_id={delivery.dropped}`), ok({ event_deliveries: [] })],
      [get(`${path}?${to}&created_before=2020-01-01T00:00:00Z`), ok({ event_deliveries: [] })],
      [get(`${path}?filter[subscription_id]=esb_${NOBODY}`), ok({ event_deliveries: [] })],
      [get(`${path}?filter[type]=nothing.v0`), invalid({ '?filter[type]': /not an event type/ })],
      [get(`${path}?filter[state]=sent`), invalid({ '?filter[state]': /delivered/ })],
    ],
  },
  {
    rule: 'A delivered, failed or dropped delivery is sent again on request; a pending one does not wait any longer',
    given: { failed: get(at('failed')) },
    ask: post(`${at('failed')}/redeliver`, {}),
    answer: ok({ id: '{delivery.failed}', state: 'pending', attempts: 0, status_code: null, event_id: idOf('ev') }),
    later: [
      [post(`${at('failed')}/redeliver`, {}), ok({ id: '{delivery.failed}', state: 'pending' })],
      [post(`${path}/evd_${NOBODY}/redeliver`, {}), refused('NOT_FOUND')],
    ],
  },
  {
    rule: 'A destination is sent again what was created in a time, all of it or what has failed',
    ask: post(replay, { ...since, only: 'failed' }),
    answer: ok({ requeued: 1, next: null }),
    later: [
      [post(replay, { ...since, until: '2020-01-02T00:00:00Z', only: 'all' }), ok({ requeued: 0 })],
      [post(replay, { ...since, after_id: '{delivery.replayed}' }), ok({ requeued: 0, next: null })],
      [post(replay, { ...since, until: '2019-12-31T00:00:00Z' }), invalid({ '/until': 'must not be before since' })],
      [post(replay, since), ok({ requeued: 1, next: null })],
      [post(replay, {}), invalid({ '/since': /.+/ })],
      [post(`/event_destinations/ed_${NOBODY}/replay`, since), refused('NOT_FOUND')],
    ],
  },
  {
    rule: 'A replay starts where the response before it has ended',
    ask: post(replay, {
      ...since,
      until: '2026-01-01T00:00:00Z',
      only: 'all',
      after_id: '{delivery.replayed}',
    }),
    answer: ok({ requeued: 0, next: null }),
  },
];

export const eventDeliveries: Section = { title: 'Extension: event deliveries', rows };

import { eventDestination } from '../../../src/resources/event-destination.ts';
import { created, get, invalid, ok, patch, post, type Row, type Section } from '../row.ts';

const path = '/event_destinations';
const webhook = (url: unknown) => ({ target: { webhook: { url } } });
const least = webhook('https://hooks.example.com/tunnels');
const address = `${path}/{made.id}`;
const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;

const wrong = (rule: string, sent: object, details: Record<string, RegExp | string>): Row => ({
  rule,
  ask: post(path, { ...least, ...sent }),
  answer: invalid(details),
});
const wrongUrl = (rule: string, url: unknown, reason: RegExp) =>
  wrong(rule, webhook(url), { '/target/webhook/url': reason });

const longest = `https://hooks.example.com/${'x'.repeat(2048 - 26)}`;

const targets: Row[] = [
  {
    rule: 'The target of a destination is a webhook: an https URL, optionally with port, path and query',
    ask: post(path, webhook('https://hooks.example.com:8443/a/b?c=d')),
    answer: created(webhook('https://hooks.example.com:8443/a/b?c=d')),
  },
  {
    rule: 'The target of a destination can be changed',
    given: { made: post(path, least) },
    ask: patch(address, webhook('https://hooks.example.org')),
    answer: ok(webhook('https://hooks.example.org')),
  },
  wrong('The target of a destination must be a webhook', { target: {} }, { '/target/webhook': /./ }),
  wrong(
    'An unknown kind of target is refused by name',
    { target: { ...least.target, queue: {} } },
    {
      '/target/queue': 'unknown field',
    },
  ),
  wrongUrl('The URL of a webhook must not be an http URL', 'http://hooks.example.com', /https/),
  wrongUrl('The URL of a webhook must be complete', 'hooks.example.com', /https URL/),
  wrongUrl('The URL of a webhook must not have user and password', 'https://a:b@hooks.example.com', /password/),
  wrongUrl('The URL of a webhook must not have a fragment', 'https://hooks.example.com/#x', /fragment/),
  wrongUrl('The URL of a webhook must be in ASCII', 'https://hooks.example.com/ä', /ASCII/),
  {
    rule: 'The URL of a webhook has at most 2048 characters',
    ask: post(path, webhook(longest)),
    answer: created(webhook(longest)),
    later: [[post(path, webhook(`${longest}x`)), invalid({ '/target/webhook/url': /2048/ })]],
  },
  {
    rule: 'The format of a destination is json by default',
    ask: post(path, least),
    answer: created({ format: 'json' }),
    later: [
      [post(path, { ...least, format: null }), created({ format: 'json' })],
      [post(path, { ...least, format: 'json' }), created({ format: 'json' })],
    ],
  },
  {
    rule: 'Formats other than json are refused',
    given: { made: post(path, { ...least, format: 'json' }) },
    ask: patch(address, { format: 'json' }),
    answer: ok({ format: 'json' }),
    later: [[patch(address, { format: 'xml' }), invalid({ '/format': /json/ })]],
  },
];

const secrets: Row[] = [
  {
    rule: 'A destination that is created without a signing secret gets one of 32 bytes',
    ask: post(path, least),
    answer: created({ signing_secret: /^whsec_[A-Za-z0-9+/]{43}=$/ }),
    later: [[post(path, { ...least, signing_secret: null }), created({ signing_secret: /^whsec_/ })]],
  },
  {
    rule: 'A destination may be created with a signing secret of 24 to 64 bytes',
    ask: post(path, { ...least, signing_secret: secretOf(24) }),
    answer: created({ signing_secret: secretOf(24) }),
    later: [[post(path, { ...least, signing_secret: secretOf(64) }), created({ signing_secret: secretOf(64) })]],
  },
  {
    rule: 'The signing secret of a destination is shown when it is created, and never again',
    given: { made: post(path, least) },
    ask: get(address),
    answer: ok({ signing_secret: null }),
    later: [
      [patch(address, { description: 'changed' }), ok({ signing_secret: null })],
      [get(`${path}?limit=1`), ok({ event_destinations: [{ id: '{made.id}', signing_secret: null }] })],
    ],
  },
  {
    rule: 'The signing secret of a destination cannot be changed',
    given: { made: post(path, least) },
    ask: patch(address, { signing_secret: secretOf(32) }),
    answer: invalid({ '/signing_secret': 'cannot be changed' }),
  },
  wrong('A signing secret has at least 24 bytes', { signing_secret: secretOf(23) }, { '/signing_secret': /24 to 64/ }),
  wrong('A signing secret has at most 64 bytes', { signing_secret: secretOf(65) }, { '/signing_secret': /24 to 64/ }),
  wrong(
    'A signing secret must start with whsec_',
    { signing_secret: secretOf(32).slice(6) },
    { '/signing_secret': /whsec_/ },
  ),
  wrong('A signing secret must be base64', { signing_secret: 'whsec_not-base-64' }, { '/signing_secret': /base64/ }),
];

export const eventDestinations: Section = {
  title: 'Extension: event destinations',
  family: eventDestination,
  rows: [...targets, ...secrets],
};

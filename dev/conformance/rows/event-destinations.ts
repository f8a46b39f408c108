import { eventDestination } from '../../../src/resources/event-destination.ts';
import { created, invalid, ok, patch, post, type Row, type Section } from '../row.ts';

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
  wrongUrl('The host of a webhook has no empty label', 'https://hooks..example.com/a', /empty label/),
  wrongUrl(
    'The host of a webhook has no underscore',
    'https://hook_1.example.com',
    /"hook_1" is not a host name label/,
  ),
  wrongUrl('An IPv4 address of a webhook is four decimal numbers', 'https://2130706433', /four decimal numbers/),
  wrongUrl('The port of a webhook is not 0', 'https://hooks.example.com:0', /1 to 65535/),
  wrongUrl('The URL of a webhook must not be an http URL', 'http://hooks.example.com', /https/),
  {
    rule: 'The URL of a webhook has at most 2048 characters',
    ask: post(path, webhook(longest)),
    answer: created(webhook(longest)),
    later: [[post(path, webhook(`${longest}x`)), invalid({ '/target/webhook/url': /2048/ })]],
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
  wrong('A signing secret has at least 24 bytes', { signing_secret: secretOf(23) }, { '/signing_secret': /24 to 64/ }),
];

export const eventDestinations: Section = {
  title: 'Extension: event destinations',
  family: eventDestination,
  rows: [...targets, ...secrets],
};

import { eventDestination } from '../../../src/resources/event-destination.ts';
import { DATADOG_SITES } from '../../../src/resources/event-target.ts';
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

const datadog = { api_key: '0123456789abcdef0123456789abcdef' };
const full = { ...datadog, site: 'datadoghq.eu', tags: ['env:production', 'team:edge'] };
const otlp_logs = { url: 'https://otel.example.com/v1/logs' };

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
  wrongUrl(
    'The URL of a webhook must not be an http URL, unless EVENT_HTTP_HOSTS lists its host',
    'http://hooks.example.com',
    /must be an https URL, since EVENT_HTTP_HOSTS/,
  ),
  wrongUrl(
    'The URL of a webhook must not have an address that is not public, unless EVENT_ALLOW_NETWORKS allows it',
    'https://10.0.0.1/hook',
    /EVENT_ALLOW_NETWORKS/,
  ),
  {
    rule: 'The URL of a webhook has at most 2048 characters',
    ask: post(path, webhook(longest)),
    answer: created(webhook(longest)),
    later: [[post(path, webhook(`${longest}x`)), invalid({ '/target/webhook/url': /2048/ })]],
  },
  {
    rule: 'The target of a destination may be Datadog: an API key, optionally with site and tags',
    ask: post(path, { target: { datadog } }),
    answer: created({ target: { datadog: { ...datadog, site: 'datadoghq.com', tags: [] } } }),
    later: [
      ...DATADOG_SITES.map((site) => {
        const sent = { target: { datadog: { ...full, site } } };
        return [post(path, sent), created(sent)] as const;
      }),
      [
        post(path, { target: { datadog: { ...full, site: 'example.com' } } }),
        invalid({ '/target/datadog/site': /datadoghq/ }),
      ],
      [
        post(path, { target: { datadog: { ...full, tags: ['a,b'] } } }),
        invalid({ '/target/datadog/tags/0': /commas/ }),
      ],
      [post(path, { target: { datadog: { api_key: 'short' } } }), invalid({ '/target/datadog/api_key': /16 to 128/ })],
    ],
  },
  {
    rule: 'The target of a destination may be a server that takes logs by OTLP: a URL, optionally with headers',
    ask: post(path, { target: { otlp_logs } }),
    answer: created({ target: { otlp_logs: { ...otlp_logs, headers: {} } } }),
    later: [
      [
        post(path, { target: { otlp_logs: { ...otlp_logs, headers: { 'X-Scope-OrgID': 'a' } } } }),
        created({ target: { otlp_logs: { ...otlp_logs, headers: { 'x-scope-orgid': 'a' } } } }),
      ],
      [
        post(path, { target: { otlp_logs: { url: 'http://otel.example.com/v1/logs' } } }),
        invalid({ '/target/otlp_logs/url': /EVENT_HTTP_HOSTS/ }),
      ],
    ],
  },
  {
    rule: 'A destination has exactly one target; another one takes its place',
    given: { made: post(path, { target: { datadog } }) },
    ask: patch(address, least),
    answer: ok({ target: { webhook: least.target.webhook, datadog: undefined } }),
    later: [
      [patch(address, { target: { datadog, otlp_logs } }), invalid({ '/target': /has datadog and otlp_logs/ })],
      [patch(address, { target: { datadog: null } }), invalid({ '/target': /has none/ })],
    ],
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

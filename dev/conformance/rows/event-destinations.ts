import { eventDestination } from '../../../src/resources/event-destination.ts';
import { DATADOG_SITES } from '../../../src/resources/event-target.ts';
import { created, get, invalid, NOBODY, ok, patch, post, type Row, refused, type Section, TIMESTAMP } from '../row.ts';

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
      [
        post(path, { target: { otlp_logs: { ...otlp_logs, headers: { Host: 'b.example.com', 'X-Team': 'a' } } } }),
        invalid({ '/target/otlp_logs/headers/host': 'is set by the service' }),
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

const NOTHING = { status: 'active', paused_at: null, paused_reason: null };
const given = { made: post(path, least) };
const lifetime: Row[] = [
  {
    rule: 'A new destination is active, and nothing has been delivered to it',
    ask: post(path, least),
    answer: created({
      ...NOTHING,
      last_success_at: null,
      last_failure_at: null,
      failing_since: null,
      last_error: null,
      signing_secret_issued_at: TIMESTAMP,
      previous_signing_secret_until: null,
    }),
  },
  {
    rule: 'A destination is paused; to pause it twice changes nothing',
    given,
    ask: post(`${address}/pause`),
    answer: ok({ status: 'paused', paused_at: TIMESTAMP, paused_reason: 'Somebody has paused it.' }),
    later: [
      [post(`${address}/pause`, {}), { ...ok({ status: 'paused' }), headers: { etag: '"2"' } }],
      [get(address), ok({ status: 'paused', paused_at: TIMESTAMP })],
    ],
  },
  {
    rule: 'A paused destination is resumed; to resume it twice changes nothing',
    given: { ...given, paused: post(`${address}/pause`) },
    ask: post(`${address}/resume`),
    answer: { ...ok(NOTHING), headers: { etag: '"3"' } },
    later: [
      [post(`${address}/resume`), { ...ok(NOTHING), headers: { etag: '"3"' } }],
      [post(`${address}/resume`, { now: true }), invalid({ '/now': /./ })],
    ],
  },
  {
    rule: 'Pausing, resuming and rotating can be bound to an ETag',
    given: { ...given, changed: patch(address, { description: 'x' }) },
    ask: post(`${address}/pause`, undefined, { headers: { 'if-match': '"1"' } }),
    answer: refused('PRECONDITION_FAILED'),
    later: [
      [post(`${address}/resume`, undefined, { headers: { 'if-match': '"1"' } }), refused('PRECONDITION_FAILED')],
      [post(`${address}/rotate_secret`, {}, { headers: { 'if-match': '"1"' } }), refused('PRECONDITION_FAILED')],
      [get(address), ok({ status: 'active', previous_signing_secret_until: null })],
    ],
  },
  {
    rule: 'A destination that does not exist can be neither paused, resumed, rotated nor tested',
    ask: post(`${path}/ed_${NOBODY}/pause`),
    answer: refused('NOT_FOUND'),
    later: ['resume', 'rotate_secret', 'test'].map((name) => [
      post(`${path}/ed_${NOBODY}/${name}`),
      refused('NOT_FOUND'),
    ]),
  },
  {
    rule: 'Only admins may pause, resume, rotate and test a destination',
    given,
    ask: post(`${address}/pause`, undefined, { as: 'user' }),
    answer: refused('PERMISSION_DENIED'),
    later: ['resume', 'rotate_secret', 'test'].map((name) => [
      post(`${address}/${name}`, undefined, { as: 'user' }),
      refused('PERMISSION_DENIED'),
    ]),
  },
  {
    rule: 'A rotation issues a new signing secret once; the old one signs for a day, or for the overlap in seconds',
    given,
    ask: post(`${address}/rotate_secret`),
    answer: ok({ signing_secret: /^whsec_[A-Za-z0-9+/]{43}=$/, previous_signing_secret_until: TIMESTAMP }),
    later: [
      [get(address), ok({ signing_secret: null, previous_signing_secret_until: TIMESTAMP })],
      [
        post(`${address}/rotate_secret`, { signing_secret: secretOf(24), overlap: 0 }),
        ok({ signing_secret: secretOf(24), previous_signing_secret_until: null }),
      ],
      [post(`${address}/rotate_secret`, { overlap: 2_592_000 }), ok({ previous_signing_secret_until: TIMESTAMP })],
      [post(`${address}/rotate_secret`, { overlap: 2_592_001 }), invalid({ '/overlap': /0 to 2592000/ })],
      [post(`${address}/rotate_secret`, { overlap: '24h' }), invalid({ '/overlap': /./ })],
      [post(`${address}/rotate_secret`, { signing_secret: secretOf(23) }), invalid({ '/signing_secret': /24 to 64/ })],
    ],
  },
  {
    rule: 'A rotation under an idempotency key issues one secret; repeated, it shows it again, and its overlap begins anew',
    given: {
      ...given,
      first: post(`${address}/rotate_secret`, {}, { headers: { 'idempotency-key': '{unique}' } }),
    },
    ask: post(`${address}/rotate_secret`, {}, { headers: { 'idempotency-key': '{unique}' } }),
    answer: {
      ...ok({ signing_secret: '{first.signing_secret}' }),
      headers: { 'idempotency-replayed': 'true', etag: '"3"' },
    },
    later: [
      [
        post(`${address}/rotate_secret`, { overlap: 1 }, { headers: { 'idempotency-key': '{unique}' } }),
        refused('IDEMPOTENCY_KEY_REUSED'),
      ],
      [post(`${address}/rotate_secret`, {}), ok({ signing_secret: /^whsec_/ })],
      [
        post(`${address}/rotate_secret`, {}, { headers: { 'idempotency-key': '{unique}' } }),
        { ...ok({ signing_secret: null }), headers: { 'idempotency-replayed': 'true', etag: '"4"' } },
      ],
    ],
  },
  {
    rule: 'A test sends an event to a destination at once, also to a paused one, and tells what came back',
    given: { ...given, paused: post(`${address}/pause`) },
    ask: post(`${address}/test`),
    answer: ok({ delivered: true, status_code: 204, answer: null, error: null }),
    later: [
      [patch(address, webhook('https://broken.example.com/')), ok()],
      [post(`${address}/test`), ok({ delivered: false, status_code: 503, answer: 'busy', error: /503/ })],
      [get(address), ok({ status: 'paused', last_success_at: null, last_failure_at: null, failing_since: null })],
    ],
  },
];

export const eventDestinations: Section = {
  title: 'Extension: event destinations',
  family: eventDestination,
  rows: [...targets, ...secrets, ...lifetime],
};

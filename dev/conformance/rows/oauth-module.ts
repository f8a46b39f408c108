import { type ModuleFamily, moduleConventions } from '../module-conventions.ts';
import { get, invalid, ok, put, type Row } from '../row.ts';
import { OTHER_SESSION, onRoute, SESSION_DEFAULTS, sessionRows } from '../session-rows.ts';

const GENERIC = ['facebook', 'microsoft', 'google', 'linkedin', 'gitlab', 'twitch', 'amazon'];
const NAMES = ['github', ...GENERIC];
const unused = Object.fromEntries(NAMES.map((name) => [name, null]));

const client = { client_id: 'my-id', client_secret: 'my-secret' };
const full = {
  ...client,
  scopes: ['user', 'email'],
  email_addresses: ['ada@example.com', 'grace@example.org'],
  email_domains: ['example.com', 'example.org'],
};
const codeHost = { ...full, teams: ['acme/admins', 'acme/web'], organizations: ['acme', 'example'] };
const managed = { client_id: null, client_secret: null, scopes: [], email_addresses: [], email_domains: [] };

export const oauth: ModuleFamily = {
  ...onRoute,
  one: 'the OAuth module of a route',
  name: 'oauth',
  least: { provider: { google: {} } },
  shown: { ...SESSION_DEFAULTS, auth_check_interval: 0, provider: { ...unused, google: managed } },
  other: { ...OTHER_SESSION, auth_check_interval: 600, provider: { github: codeHost } },
  otherShown: { ...OTHER_SESSION, auth_check_interval: 600, provider: { ...unused, github: codeHost } },
  required: ['provider'],
};

const { given } = oauth;
const address = `${oauth.owner}/oauth`;
const take = (provider: unknown) => put(address, { provider });
const ofGoogle = (settings: object) => take({ google: settings });
const ofGithub = (settings: object) => take({ github: settings });
const shows = (name: string, settings: object) => ok({ provider: { [name]: settings } });

const providers: Row[] = [
  ...NAMES.map((name): Row => {
    const settings = name === 'github' ? codeHost : full;
    return {
      rule: `The provider of OAuth may be ${name}, with all its settings; the other seven are null`,
      given,
      ask: take({ [name]: settings }),
      answer: ok({ provider: { ...unused, [name]: settings } }),
      later: [[get(address), ok({ provider: { ...unused, [name]: settings } })]],
    };
  }),
  {
    rule: 'OAuth must have a provider',
    given,
    ask: take({}),
    answer: invalid({ '/provider': /exactly one of .*has none/ }),
    later: [[take(unused), invalid({ '/provider': /has none/ })]],
  },
  {
    rule: 'OAuth cannot have two providers',
    given,
    ask: take({ github: {}, google: {} }),
    answer: invalid({ '/provider': /has github and google/ }),
  },
  {
    rule: 'A setting that a provider does not have is refused by name',
    given,
    ask: ofGoogle({ nonsense: 1 }),
    answer: invalid({ '/provider/google/nonsense': 'unknown field' }),
  },
];

const broken = (name: string) => take({ [name]: { client_id: 'a\r\nb', client_secret: 'b\n' } });
const notPrintable = (name: string) =>
  invalid({
    [`/provider/${name}/client_id`]: /printable ASCII/,
    [`/provider/${name}/client_secret`]: /printable ASCII/,
  });

const credentials: Row[] = [
  {
    rule: 'Without client id and secret, OAuth uses the application of the service: both are null',
    given,
    ask: ofGithub({ organizations: ['acme'] }),
    answer: shows('github', { ...managed, teams: [], organizations: ['acme'] }),
    later: [[ofGoogle({ client_id: null, client_secret: null }), shows('google', managed)]],
  },
  {
    rule: 'Client id and secret of every provider are printable ASCII, without line breaks',
    given,
    ask: broken('github'),
    answer: notPrintable('github'),
    later: GENERIC.map((name) => [broken(name), notPrintable(name)] as const),
  },
  {
    rule: 'A client id of OAuth requires a secret',
    given,
    ask: ofGoogle({ client_id: 'my-id' }),
    answer: invalid({ '/provider/google/client_secret': /required with a client_id/ }),
    later: [[ofGithub({ client_id: 'my-id' }), invalid({ '/provider/github/client_secret': /required/ })]],
  },
  {
    rule: 'Scopes of OAuth require a client id and a secret',
    given,
    ask: ofGoogle({ scopes: ['email'] }),
    answer: invalid({ '/provider/google/scopes': /client_id and client_secret/ }),
    later: [
      [ofGithub({ scopes: ['user'] }), invalid({ '/provider/github/scopes': /client_id and client_secret/ })],
      [ofGoogle({ ...client, scopes: ['email'] }), shows('google', { ...managed, ...client, scopes: ['email'] })],
    ],
  },
];

/** By list: a good member, and bad ones with the reason. */
const LISTS: Readonly<Record<string, { good: string; bad: readonly string[]; reason: RegExp }>> = {
  email_addresses: { good: 'ada@example.com', bad: ['ada', 'ada@', '@example.com'], reason: /email address/ },
  email_domains: { good: 'example.com', bad: ['*.example.com', 'example', 'ada@example.com'], reason: /./ },
  teams: { good: 'acme/admins', bad: ['admins', 'acme/', '/admins', 'acme/admins/more'], reason: /acme\/admins/ },
  organizations: { good: 'acme', bad: ['acme/admins', 'two words', ''], reason: /organisation/ },
};

const lists: Row[] = Object.entries(LISTS).flatMap(([list, { good, bad, reason }]): Row[] => [
  {
    rule: `The ${list} that OAuth lets in may be absent, null or empty; all mean the same`,
    given,
    ask: ofGithub({}),
    answer: shows('github', { [list]: [] }),
    later: [
      [ofGithub({ [list]: null }), shows('github', { [list]: [] })],
      [ofGithub({ [list]: [] }), shows('github', { [list]: [] })],
    ],
  },
  {
    rule: `One of the ${list} of OAuth looks like ${good}`,
    given,
    ask: ofGithub({ [list]: [good] }),
    answer: shows('github', { [list]: [good] }),
    later: [[ofGithub({ [list]: bad }), invalid(Object.fromEntries(bad.map((_, at) => [pointer(list, at), reason])))]],
  },
  {
    rule: `The ${list} of OAuth must not repeat a member`,
    given,
    ask: ofGithub({ [list]: [good, good] }),
    answer: invalid({ [pointer(list, 1)]: /already/ }),
  },
  {
    rule: `The ${list} of OAuth have at most 250 members`,
    given,
    ask: ofGithub({ [list]: members(250, good) }),
    answer: shows('github', { [list]: members(250, good) }),
    later: [[ofGithub({ [list]: members(251, good) }), invalid({ [`/provider/github/${list}`]: /250/ })]],
  },
]);

lists.push({
  rule: 'Email domains of OAuth are shown in lower case and compared without regard to case',
  given,
  ask: ofGoogle({ email_domains: ['Example.COM'] }),
  answer: shows('google', { email_domains: ['example.com'] }),
  later: [
    [
      ofGoogle({ email_domains: ['example.com', 'EXAMPLE.com'] }),
      invalid({ '/provider/google/email_domains/1': /already/ }),
    ],
  ],
});

function pointer(list: string, at: number): string {
  return `/provider/github/${list}/${at}`;
}

function members(count: number, like: string): string[] {
  return Array.from({ length: count }, (_, index) => like.replace(/^\w+/, `$&${index}`));
}

const DURATIONS = ['inactivity_timeout', 'maximum_duration', 'auth_check_interval'];

export const oauthRows: readonly Row[] = [
  ...moduleConventions(oauth),
  ...sessionRows(oauth, DURATIONS),
  ...providers,
  ...credentials,
  ...lists,
];

import { deletion, type ModuleFamily, moduleConventions } from '../module-conventions.ts';
import { invalid, ok, put, type Row } from '../row.ts';
import { OTHER_SESSION, onRoute, SESSION_DEFAULTS, sessionRows } from '../session-rows.ts';

const least = { issuer: 'https://accounts.example.com', client_id: 'my-id', client_secret: 'my-secret' };
const other = {
  ...OTHER_SESSION,
  issuer: 'https://login.example.com:8443/tenant',
  client_id: 'another-id',
  client_secret: 'another-secret',
  scopes: ['openid', 'email'],
};

const oidc: ModuleFamily = {
  ...onRoute,
  one: 'the OIDC module of a route',
  name: 'oidc',
  least,
  shown: { ...SESSION_DEFAULTS, ...least, scopes: [] },
  other,
  otherShown: other,
  required: ['issuer', 'client_id', 'client_secret'],
};

const { given } = oidc;
const address = `${oidc.owner}/oidc`;
const take = (sent: object) => put(address, { ...least, ...sent });

const wrongIssuer = (rule: string, issuer: unknown, reason: RegExp): Row => ({
  rule,
  given,
  ask: take({ issuer }),
  answer: invalid({ '/issuer': reason }),
});

export const oidcRows: readonly Row[] = [
  ...moduleConventions(oidc),
  deletion(oidc),
  ...sessionRows(oidc, ['inactivity_timeout', 'maximum_duration']),
  {
    rule: 'The issuer of OIDC is an https URL, optionally with port and path',
    given,
    ask: take({ issuer: 'https://accounts.example.com:8443/tenant' }),
    answer: ok({ issuer: 'https://accounts.example.com:8443/tenant' }),
  },
  wrongIssuer(
    'The issuer of OIDC must not be the address of its discovery document',
    'https://accounts.example.com/.well-known/openid-configuration',
    /write "https:\/\/accounts.example.com"/,
  ),
  wrongIssuer('The host of an issuer must be a name or an address', 'https://0x7f000001', /IPv4 address/),
  wrongIssuer('The issuer of OIDC must not be an http URL', 'http://accounts.example.com', /https/),
  {
    rule: 'Client id and secret of OIDC must not be empty',
    given,
    ask: take({ client_id: '', client_secret: '' }),
    answer: invalid({ '/client_id': /empty/, '/client_secret': /empty/ }),
  },
  {
    rule: 'Client id and secret of OIDC are printable ASCII, without line breaks',
    given,
    ask: take({ client_id: 'a\r\nSet-Cookie: x=1', client_secret: 'ü' }),
    answer: invalid({ '/client_id': /printable ASCII/, '/client_secret': /printable ASCII/ }),
    later: [[take({ client_id: ' a"\\~' }), ok({ client_id: ' a"\\~' })]],
  },
  {
    rule: 'Client id and secret of OIDC have at most 1024 and 4096 characters',
    given,
    ask: take({ client_id: 'x'.repeat(1024), client_secret: 'x'.repeat(4096) }),
    answer: ok({ client_id: 'x'.repeat(1024), client_secret: 'x'.repeat(4096) }),
    later: [
      [
        take({ client_id: 'x'.repeat(1025), client_secret: 'x'.repeat(4097) }),
        invalid({ '/client_id': /1024/, '/client_secret': /4096/ }),
      ],
    ],
  },
  {
    rule: 'Scopes of OIDC keep their order; none may be repeated',
    given,
    ask: take({ scopes: ['openid', 'email', 'address'] }),
    answer: ok({ scopes: ['openid', 'email', 'address'] }),
    later: [[take({ scopes: ['openid', 'email', 'openid'] }), invalid({ '/scopes/2': /already/ })]],
  },
  {
    rule: 'OIDC has at most 250 scopes',
    given,
    ask: take({ scopes: scopes(250) }),
    answer: ok({ scopes: scopes(250) }),
    later: [[take({ scopes: scopes(251) }), invalid({ '/scopes': /250/ })]],
  },
];

function scopes(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `scope-${index}`);
}

/** Which names may be reserved, how they come back, and where their DNS records point. */
import { created, del, get, invalid, noContent, not, ok, patch, post, type Row, refused } from '../row.ts';

const path = '/reserved_domains';
const named = (domain: string) => post(path, { domain });

const shown = (rule: string, sent: string, domain: string): Row => ({
  rule,
  ask: named(sent),
  answer: created({ domain }),
});

const malformed = (rule: string, domain: string, reason: RegExp): Row => ({
  rule,
  ask: named(domain),
  answer: invalid({ '/domain': reason }),
});

const CNAME = /^[0-7][0-9a-z]{25}\.cname\.tunnels\.internal$/;
const ACME = /^[0-7][0-9a-z]{25}\.acme\.tunnels\.internal$/;
const targets = (rule: string, domain: string, cname_target: RegExp | null, acme: RegExp | null): Row => ({
  rule,
  given: { made: named(domain) },
  ask: get(`${path}/{made.id}`),
  answer: ok({ domain, cname_target, acme_challenge_cname_target: acme }),
});

const LONGEST_LABEL = 'a'.repeat(63);
/** 253 characters. */
const LONGEST = `${'a.'.repeat(123)}example`;

export const domainNames: readonly Row[] = [
  shown('A domain is returned unchanged', 'app.{unique}.example.com', 'app.{unique}.example.com'),
  shown('A domain is returned in lower case', 'APP.{unique}.Example.COM', 'app.{unique}.example.com'),
  shown(
    'An international name is returned in ASCII',
    'Bücher.{unique}.example.com',
    'xn--bcher-kva.{unique}.example.com',
  ),
  shown(
    'An international name may be given in ASCII, too',
    'xn--bcher-kva.{unique}.example.com',
    'xn--bcher-kva.{unique}.example.com',
  ),
  shown('A domain may be a wildcard', '*.{unique}.example.com', '*.{unique}.example.com'),
  shown('A wildcard may be international', '*.bücher.{unique}.example.com', '*.xn--bcher-kva.{unique}.example.com'),
  shown('A label of a domain may have 63 characters', `${LONGEST_LABEL}.example.com`, `${LONGEST_LABEL}.example.com`),
  shown('A domain may have 253 characters', LONGEST, LONGEST),
  malformed('A domain must not be empty', '', /empty/),
  malformed('A domain has at least two labels', 'localhost', /two labels/),
  malformed('A wildcard has at least two labels below it', '*.example', /two labels/),
  malformed('A wildcard must be the leftmost label', 'a.*.example.com', /leftmost/),
  malformed('A domain has at most one wildcard', '*.*.example.com', /leftmost/),
  malformed('A wildcard must be a whole label', '*a.example.com', /leftmost/),
  malformed('A domain must not have an empty label', 'a..example.com', /empty label/),
  malformed('A domain must not end with a dot', 'example.com.', /empty label/),
  malformed('A label must not start with a hyphen', '-a.example.com', /label/),
  malformed('A label may contain only letters, digits and hyphens', 'a_b.example.com', /label/),
  malformed('A label of a domain has at most 63 characters', `a${LONGEST_LABEL}.example.com`, /at most 63/),
  malformed('A domain has at most 253 characters', `a${LONGEST}`, /253/),
  malformed('A domain must not have a port', 'a.example.com:443', /label/),
  malformed('A domain must not be a URL', 'https://a.example.com', /label/),
  malformed('A domain must not be an IP address', '192.0.2.1', /IP address/),
  malformed(
    'A label that starts with xn-- must be a valid international name',
    'xn--a.example.com',
    /internationalised/,
  ),
  {
    rule: 'A domain can be reserved only once, however it is written',
    given: { made: named('bücher.{unique}.example.com') },
    ask: named('BÜCHER.{unique}.example.com'),
    answer: refused('CONFLICT', { id: '{made.id}', '/domain': /{made.id}/ }),
    later: [[named('xn--bcher-kva.{unique}.example.com'), refused('CONFLICT', { id: '{made.id}' })]],
  },
  {
    rule: 'A wildcard and its parent domain are two domains',
    given: { made: named('{unique}.example.com') },
    ask: named('*.{unique}.example.com'),
    answer: created({ id: not('{made.id}'), domain: '*.{unique}.example.com' }),
  },
  {
    rule: 'A domain can be reserved again once it is deleted',
    given: { made: named('{unique}.example.com') },
    ask: del(`${path}/{made.id}`),
    answer: noContent,
    later: [[named('{unique}.example.com'), created({ id: not('{made.id}') })]],
  },
  {
    rule: 'The domain of a reserved domain cannot be changed',
    given: { made: named('{unique}.example.com') },
    ask: patch(`${path}/{made.id}`, { domain: 'other-{unique}.example.com' }),
    answer: invalid({ '/domain': 'cannot be changed' }),
    later: [[patch(`${path}/{made.id}`, { domain: '{unique}.EXAMPLE.com' }), ok({ domain: '{unique}.example.com' })]],
  },
  targets('A custom domain has a CNAME target at the service', 'app.{unique}.example.com', CNAME, null),
  targets(
    'A custom wildcard has a CNAME target, and one for its ACME challenge',
    '*.{unique}.example.com',
    CNAME,
    ACME,
  ),
  targets('A domain below one of the service has no CNAME target', '{unique}.tunnels.internal', null, null),
  targets(
    'A wildcard below a domain of the service has no CNAME target, nor one for its ACME challenge',
    '*.{unique}.tunnels.internal',
    null,
    null,
  ),
  {
    rule: 'Each custom domain has its own CNAME target, which never changes',
    given: { made: named('{unique}.example.com') },
    ask: named('*.{unique}.example.com'),
    answer: created({ cname_target: not('{made.cname_target}') }),
    later: [[patch(`${path}/{made.id}`, { description: 'x' }), ok({ cname_target: '{made.cname_target}' })]],
  },
  {
    rule: 'CNAME targets are set by the service',
    ask: post(path, { domain: '{unique}.example.com', cname_target: 'a.example', acme_challenge_cname_target: 'b' }),
    answer: invalid({
      '/cname_target': 'is set by the service',
      '/acme_challenge_cname_target': 'is set by the service',
    }),
  },
  malformed('A domain of the service cannot be reserved', 'Tunnels.internal', /belongs to the service/),
  malformed('Nor can the wildcard of a domain of the service', '*.tunnels.internal', /belongs to the service/),
  malformed('Nor can what is below the CNAME targets', 'x.cname.tunnels.internal', /belongs to the service/),
  malformed('Nor can what is below the ACME targets', '*.acme.tunnels.internal', /belongs to the service/),
];

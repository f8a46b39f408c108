/** Which names may be reserved, how they come back, and where their DNS records point. */
import { created, get, invalid, not, ok, patch, post, type Row, refused } from '../row.ts';

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

export const domainNames: readonly Row[] = [
  shown('A domain is returned in lower case', 'APP.{unique}.Example.COM', 'app.{unique}.example.com'),
  shown(
    'An international name is returned in ASCII',
    'Bücher.{unique}.example.com',
    'xn--bcher-kva.{unique}.example.com',
  ),
  shown('A wildcard may be international', '*.bücher.{unique}.example.com', '*.xn--bcher-kva.{unique}.example.com'),
  malformed('A domain has at least two labels', 'localhost', /two labels/),
  malformed('A wildcard must be the leftmost label', 'a.*.example.com', /leftmost/),
  malformed('A domain must not be an IP address', '192.0.2.1', /IP address/),
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
  malformed('A domain of the service cannot be reserved', 'Tunnels.internal', /belongs to the service/),
  malformed(
    'A domain below the CNAME targets cannot be reserved',
    'x.cname.tunnels.internal',
    /belongs to the service/,
  ),
];

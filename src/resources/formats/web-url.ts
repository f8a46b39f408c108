/** http and https URLs that are safe to store and to call. */
import { isIPv4 } from 'node:net';
import { endsInNumber, HOST, hostnameProblem, lowerCase, NUMBER, PORT } from './hostname.ts';
import { parseIpv6 } from './ipv6.ts';
import { pattern, type Refused, refused, text } from './text.ts';

const MAX_LENGTH = 2048;

/** RFC 3986, without the parts refused below. `URL` alone would accept and repair malformed URLs that others read differently. */
const HTTPS = '[Hh][Tt]{2}[Pp][Ss]://';
const SCHEME = '[Hh][Tt]{2}[Pp][Ss]?://';
const PLACE = String.raw`(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?`;
const CHARACTER = "[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2}";
const STRICT = new RegExp(String.raw`^${SCHEME}${PLACE}(?:[/?](?:${CHARACTER}|\?)*)?$`);
const ISSUER = new RegExp(`^${HTTPS}${PLACE}(?:/(?:${CHARACTER})*)?$`);

const AUTHORITY = new RegExp(String.raw`^${SCHEME}(?:\[([^\]]*)\]|([^/?#@\\:]*))(?::([^/?#@]*))?(?:[/?#]|$)`);
const END = '(?:[/?]|$)';
const OCTET = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const QUADS = String.raw`${OCTET}(?:\.${OCTET}){3}`;

const NEITHER = 'in ASCII, without user name, password';

/** What `authorityProblem` refuses, for the CRDs. */
const AUTHORITIES: readonly Refused[] = [
  {
    found: new RegExp(String.raw`^${SCHEME}[A-Za-z0-9._-]+(?::\d+)?${END}`),
    unless: new RegExp(String.raw`^${SCHEME}${HOST}(?::\d+)?${END}`),
    says: 'must have a host of letters, digits, dots and inner hyphens, as in hooks.example.com',
  },
  {
    found: new RegExp(String.raw`^${SCHEME}(?:[A-Za-z0-9._-]+\.)?${NUMBER}(?::\d+)?${END}`),
    unless: new RegExp(String.raw`^${SCHEME}${QUADS}(?::\d+)?${END}`),
    says: 'must write an IPv4 address as four decimal numbers, as in 192.0.2.1',
  },
  {
    found: new RegExp(String.raw`^${SCHEME}[^/?]*:\d+${END}`),
    unless: new RegExp(`^${SCHEME}[^/?]*:${PORT}${END}`),
    says: 'must have a port from 1 to 65535, without leading zeros, or none',
  },
];

/** An http or https URL without user name, password and fragment, which would end up in logs. */
export const webUrl = address(
  STRICT,
  urlProblem,
  `must be an http or https URL ${NEITHER} and fragment, as in https://hooks.example.com/events`,
);

/** The URL with its host alone: path and query of a webhook say who may post there. */
export const hostOnly = (url: string) => url.replace(/^([^:]+:\/\/[^/?]+)[/?].+$/s, '$1/…');

const DISCOVERY = /\/\.well-known\/(?:openid-configuration|oauth-authorization-server)\/?$/;

/** The base of a provider's discovery document (OpenID Connect Discovery 1.0, section 4): without a query. */
export const issuerUrl = address(
  ISSUER,
  (input) => urlProblem(input) ?? issuerProblem(input),
  `must be an https URL ${NEITHER}, query and fragment, as in https://accounts.example.com`,
  { found: DISCOVERY, says: 'must not end in /.well-known/openid-configuration, which is added to it: leave that out' },
);

function address(
  form: RegExp,
  problemOf: (input: string) => string | undefined,
  says: string,
  ...more: readonly Refused[]
) {
  return text()
    .max(MAX_LENGTH, `must be at most ${MAX_LENGTH} characters`)
    .superRefine((input, context) => {
      const problem = problemOf(input);
      if (problem) context.addIssue({ code: 'custom', message: problem, input });
    })
    .meta({ ...pattern(form, says), ...refused(...AUTHORITIES, ...more) });
}

function urlProblem(input: string): string | undefined {
  const problem = authorityProblem(input);
  if (problem) return problem;
  if (!URL.canParse(input) || /\s/.test(input)) return 'must be an https URL';
  const { protocol, username, password } = new URL(input);
  if (protocol !== 'https:' && protocol !== 'http:') return `must be an https URL, but is ${protocol.slice(0, -1)}`;
  if (username !== '' || password !== '') return 'must not have a user name or password';
  if (input.includes('#')) return 'must not have a fragment';
  return STRICT.test(input) ? undefined : 'must be an https URL in ASCII, with other characters percent-encoded';
}

/** Of the host and port as they are written, before `URL` would repair them: 0x7f000001 to 127.0.0.1, for example. */
function authorityProblem(input: string): string | undefined {
  const match = AUTHORITY.exec(input);
  if (!match) return undefined;
  const [, v6, name = '', port] = match;
  if (port !== undefined && !IS_PORT.test(port)) return 'the port must be a number from 1 to 65535';
  if (v6 !== undefined) return parseIpv6(v6) ? undefined : `"${v6.slice(0, 64)}" is not an IPv6 address`;
  const problem = hostnameProblem(lowerCase(name));
  if (problem) return problem;
  if (!endsInNumber(name) || isIPv4(name)) return undefined;
  return `"${name.slice(0, 64)}" is neither a host name nor an IPv4 address of four decimal numbers`;
}

const IS_PORT = new RegExp(`^${PORT}$`);

function issuerProblem(input: string): string | undefined {
  if (!/^https:/i.test(input)) return 'must be an https URL, but is http';
  if (input.includes('?')) return 'must not have a query';
  const issuer = input.replace(DISCOVERY, '');
  return issuer === input ? undefined : `must not have the path of the discovery document: write "${issuer}"`;
}

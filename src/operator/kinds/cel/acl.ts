/**
 * The grammar of `src/resources/formats/acl.ts` in CEL, for the API server to check. CEL has no parser for it, so
 * regular expressions (RE2) check the form of a rule first; what they cannot express follows, each with its own
 * message.
 */
import type { CelRule } from '../../managed/declaration/cel.ts';

const HOST_LABEL = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const HOST = `${HOST_LABEL}(\\\\.${HOST_LABEL})*`;
const LABEL_TOKEN = '(\\\\*|[A-Za-z0-9._/:-]{1,255})';
const PORT_IN_RANGE = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';
const BRACKETED = '\\\\[[0-9A-Fa-f:.]+\\\\]';

const FORMS = [
  `^\\\\*$`,
  `^bind:(\\\\*\\\\.)?${HOST}$`,
  `^bind:(${HOST}|${BRACKETED}):[0-9]+$`,
  `^bind:${LABEL_TOKEN}=${LABEL_TOKEN}$`,
];

const isLabel = "self.contains('=')";
const isBracketed = "self.startsWith('bind:[')";
const matches = (pattern: string) => `self.matches('${pattern}')`;

export const aclRules: readonly CelRule[] = [
  {
    rule: FORMS.map(matches).join(' || '),
    message:
      'acl rule must be "*", bind:example.com, bind:*.example.com, bind:host:443, bind:[2001:db8::1]:443 or bind:key=value',
  },
  {
    rule: `${isLabel} || ${isBracketed} || !self.startsWith('bind:') || ${matches('^bind:(\\\\*\\\\.)?[^:]{0,253}(:.*)?$')}`,
    message: 'acl rule has a host name longer than 253 characters',
  },
  {
    rule: `${isLabel} || !${matches(`^bind:(${HOST}|${BRACKETED}):[0-9]+$`)} || ${matches(`:${PORT_IN_RANGE}$`)}`,
    message: 'acl rule has a port that is not a number from 1 to 65535, without leading zeros',
  },
  {
    // isIP rejects IPv4-mapped IPv6 (::ffff:192.0.2.1), which the API accepts: replacing ffff makes it an ordinary
    // address.
    rule: `${isLabel} || !${matches(`^bind:${BRACKETED}:`)} || isIP(self.substring(6, self.indexOf(']')).lowerAscii().replace('ffff', 'fff1')) && ip(self.substring(6, self.indexOf(']')).lowerAscii().replace('ffff', 'fff1')).family() == 6`,
    message: 'acl rule has brackets around something other than an IPv6 address',
  },
];

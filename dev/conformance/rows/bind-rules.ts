/** The ACL of a tunnel credential: its rules, and what each of them permits to bind. */
import { created, invalid, ok, patch, post, type Row } from '../row.ts';

const path = '/credentials';
const RULES = 256;
const LENGTH = 512;

const decision = (matched_rule: string | null, allowed = matched_rule !== null) =>
  ok({ allowed, credential_id: '{made.id}', owner_id: '{admin.id}', matched_rule });
const bind = (target: string) => post(`${path}/authenticate`, { token: '{made.token}', bind: target });

/** The first target is asked for first: each with the rule that permits it, or null. */
function decides(rule: string, acl: readonly string[], ...[first, ...others]: readonly [string, string | null][]): Row {
  const [target, matched] = first ?? ['', null];
  return {
    rule,
    given: { made: post(path, { acl }) },
    ask: bind(target),
    answer: decision(matched),
    later: others.map(([next, by]) => [bind(next), decision(by)] as const),
  };
}

const unrestricted = (rule: string, body: Readonly<Record<string, unknown>>): Row => ({
  rule,
  given: { made: post(path, body) },
  ask: bind('example.com'),
  answer: decision(null, true),
  later: [
    [bind('*.example.com'), decision(null, true)],
    [bind('example.com:443'), decision(null, true)],
    [bind('team=web'), decision(null, true)],
  ],
});

const malformed = (rule: string, written: string, reason: RegExp): Row => ({
  rule,
  ask: post(path, { acl: ['bind:example.com', written] }),
  answer: invalid({ '/acl/1': reason }),
});

export const bindRules: readonly Row[] = [
  {
    rule: 'The ACL of a credential is empty by default',
    ask: post(path, {}),
    answer: created({ acl: [] }),
    later: [[post(path, { acl: null }), created({ acl: [] })]],
  },
  {
    rule: 'An ACL is returned unchanged',
    ask: post(path, { acl: ['bind:Example.com', 'bind:team=*', 'bind:Example.com'] }),
    answer: created({ acl: ['bind:Example.com', 'bind:team=*', 'bind:Example.com'] }),
  },
  unrestricted('A credential without an ACL may bind anything', {}),
  unrestricted('A credential with an empty ACL may bind anything', { acl: [] }),
  decides(
    'The rule * permits everything, as if there were no ACL',
    ['*'],
    ['example.com', '*'],
    ['*.example.com', '*'],
    ['example.com:443', '*'],
    ['team=web', '*'],
  ),
  decides(
    'The rule * permits everything, even alongside other rules',
    ['bind:example.com', '*'],
    ['example.com', 'bind:example.com'],
    ['other.example.net', '*'],
  ),
  decides(
    'A domain rule permits its domain, without regard to case, and nothing else',
    ['bind:example.com'],
    ['example.com', 'bind:example.com'],
    ['EXAMPLE.com', 'bind:example.com'],
    ['app.example.com', null],
    ['*.example.com', null],
    ['example.org', null],
    ['example.com:443', null],
    ['team=example.com', null],
  ),
  decides(
    'A wildcard rule permits every subdomain and the wildcard itself, but not the domain',
    ['bind:*.example.com'],
    ['app.example.com', 'bind:*.example.com'],
    ['a.b.example.com', 'bind:*.example.com'],
    ['*.example.com', 'bind:*.example.com'],
    ['*.app.example.com', 'bind:*.example.com'],
    ['example.com', null],
    ['badexample.com', null],
    ['app.example.com:443', null],
  ),
  decides(
    'An address rule permits its host with its port',
    ['bind:0.tcp.example.com:4711'],
    ['0.tcp.example.com:4711', 'bind:0.tcp.example.com:4711'],
    ['0.TCP.example.com:4711', 'bind:0.tcp.example.com:4711'],
    ['0.tcp.example.com:4712', null],
    ['1.tcp.example.com:4711', null],
    ['0.tcp.example.com', null],
  ),
  decides(
    'The host of an address rule may be an IPv6 address in brackets, in any of its spellings',
    ['bind:[2001:db8::1]:443'],
    ['[2001:db8::1]:443', 'bind:[2001:db8::1]:443'],
    ['[2001:DB8:0::1]:443', 'bind:[2001:db8::1]:443'],
    ['[2001:db8::2]:443', null],
  ),
  decides(
    'A label rule permits that label exactly',
    ['bind:team=web'],
    ['team=web', 'bind:team=web'],
    ['team=Web', null],
    ['Team=web', null],
    ['team=api', null],
    ['web', null],
  ),
  decides(
    'A label rule with * as its value permits every value of the key',
    ['bind:team=*'],
    ['team=web', 'bind:team=*'],
    ['app=web', null],
  ),
  decides(
    'A label rule with * as its key permits the value under every key',
    ['bind:*=web'],
    ['team=web', 'bind:*=web'],
    ['team=api', null],
  ),
  decides(
    'A label rule with * as both permits every label, and nothing but labels',
    ['bind:*=*'],
    ['team=web', 'bind:*=*'],
    ['example.com', null],
    ['example.com:443', null],
  ),
  decides(
    'Rules are alternatives: the first that permits the target decides',
    ['bind:x.example.com', 'bind:*.example.com', 'bind:team=web'],
    ['y.example.com', 'bind:*.example.com'],
    ['x.example.com', 'bind:x.example.com'],
    ['team=web', 'bind:team=web'],
    ['team=api', null],
  ),
  {
    rule: 'A change of the ACL takes effect with the next bind of the same authtoken',
    given: { made: post(path, { acl: ['bind:a.example.com'] }) },
    ask: patch(`${path}/{made.id}`, { acl: ['bind:b.example.com'] }),
    answer: ok({ acl: ['bind:b.example.com'] }),
    later: [
      [bind('a.example.com'), decision(null)],
      [bind('b.example.com'), decision('bind:b.example.com')],
    ],
  },
  {
    rule: 'Null or an empty list removes the ACL, and with it every restriction',
    given: { made: post(path, { acl: ['bind:a.example.com'] }) },
    ask: patch(`${path}/{made.id}`, { acl: null }),
    answer: ok({ acl: [] }),
    later: [
      [bind('b.example.com'), decision(null, true)],
      [patch(`${path}/{made.id}`, { acl: ['bind:a.example.com'] }), ok({ acl: ['bind:a.example.com'] })],
      [patch(`${path}/{made.id}`, { acl: [] }), ok({ acl: [] })],
    ],
  },
  malformed('Rules other than bind are refused', 'allow:example.com', /must be "\*" or start with "bind:"/),
  malformed('A bind rule must have a target', 'bind:', /has nothing to bind/),
  malformed('A rule must not contain white space', 'bind:example.com ', /white space/),
  malformed('A domain rule has at most one wildcard, as its first label', 'bind:*.*.example.com', /leftmost/),
  malformed('A domain rule with a wildcard needs a domain after it', 'bind:*', /needs a domain/),
  malformed('A domain rule must be a host name', 'bind:-example.com', /not a host name label/),
  malformed('An international name in a rule is refused with its ASCII form', 'bind:bücher.example', /xn--bcher-kva/),
  malformed('The port of an address rule is 1 to 65535', 'bind:example.com:65536', /1 to 65535/),
  malformed('An address rule has no wildcard', 'bind:*.example.com:443', /no wildcard/),
  malformed('An IPv6 address in a rule must be in brackets', 'bind:2001:db8::1:443', /brackets/),
  malformed('A label rule has one equals sign', 'bind:team=web=1', /exactly one "="/),
  malformed('A label rule has a key', 'bind:=web', /key is empty/),
  malformed('A label rule has a value', 'bind:team=', /value is empty/),
  malformed(
    'In a label rule * may replace a whole key or value, not part of it',
    'bind:team=w*',
    /must not contain it/,
  ),
  {
    rule: 'The error lists every malformed rule of an ACL, also in an update',
    given: { made: post(path, {}) },
    ask: patch(`${path}/{made.id}`, { acl: ['nonsense', 'bind:example.com', 'bind:'] }),
    answer: invalid({ '/acl/0': /nonsense/, '/acl/2': /has nothing to bind/ }),
  },
  {
    rule: `An ACL has at most ${RULES} rules`,
    ask: post(path, { acl: Array(RULES).fill('bind:team=web') }),
    answer: created({ acl: Array(RULES).fill('bind:team=web') }),
    later: [[post(path, { acl: Array(RULES + 1).fill('bind:team=web') }), invalid({ '/acl': /at most 256/ })]],
  },
  {
    rule: `A rule has at most ${LENGTH} characters`,
    ask: post(path, { acl: [longRule(255, 251)] }),
    answer: created({ acl: [longRule(255, 251)] }),
    later: [[post(path, { acl: [longRule(255, 252)] }), invalid({ '/acl/0': /512 characters/ })]],
  },
];

/** `bind:` and `=` are 6 of its characters. */
function longRule(key: number, value: number): string {
  return `bind:${'k'.repeat(key)}=${'v'.repeat(value)}`;
}

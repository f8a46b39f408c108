/** The ACL of a tunnel credential: its rules, and what each of them permits to bind. */
import { created, invalid, ok, patch, post, type Row } from '../row.ts';

const path = '/credentials';
const RULES = 256;
const LENGTH = 512;

const decision = (matched_rule: string | null, allowed = matched_rule !== null) =>
  ok({ allowed, credential_id: '{made.id}', owner_id: '{admin.id}', matched_rule });
const bind = (target: string) => post(`${path}/authenticate`, { token: '{made.token}', bind: target });

/** Targets, each with the rule that permits it, or null. The first is the request of the row, the others follow. */
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
  decides(
    'The rule * permits everything, as if there were no ACL',
    ['*'],
    ['example.com', '*'],
    ['*.example.com', '*'],
    ['example.com:443', '*'],
    ['team=web', '*'],
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
    'A label rule permits that label exactly',
    ['bind:team=web'],
    ['team=web', 'bind:team=web'],
    ['team=Web', null],
    ['Team=web', null],
    ['team=api', null],
    ['web', null],
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

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  acl,
  decide,
  MAX_ACL_RULES,
  parseRule,
  parseTarget,
  permits,
  type Target,
} from '../../../src/resources/formats/acl.ts';

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
const port = fc.integer({ min: 1, max: 65_535 });
const token = fc.stringMatching(/^[A-Za-z0-9._/-]{1,8}$/);
const mixedCase = (name: string) =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((upper) => [...name].map((letter, index) => (upper[index] ? letter.toUpperCase() : letter)).join(''));

/** A second implementation of rules: a pattern over the text of a request. */
function oracle(rule: string, request: string): boolean {
  if (rule === '*') return true;
  const quote = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
  const [, bind = ''] = rule.split(/^bind:/);
  if (bind.includes('=')) {
    const [key = '', value = ''] = bind.split('=');
    const part = (text: string) => (text === '*' ? '[^=]+' : quote(text));
    return new RegExp(`^${part(key)}=${part(value)}$`).test(request);
  }
  if (request.includes('=')) return false;
  if (bind.startsWith('*.')) return new RegExp(`^(\\*|[^:]+)\\.${quote(bind.slice(2))}$`, 'i').test(request);
  return new RegExp(`^${quote(bind)}$`, 'i').test(request);
}

const domainRule = fc.tuple(fc.boolean(), host).map(([wildcard, name]) => (wildcard ? `*.${name}` : name));
const address = fc.tuple(host, port).map(([name, number]) => `${name}:${number}`);
const labelRule = fc
  .tuple(fc.oneof(token, fc.constant('*')), fc.oneof(token, fc.constant('*')))
  .map((parts) => parts.join('='));
const request = fc.oneof(
  domainRule,
  address,
  fc.tuple(token, token).map((parts) => parts.join('=')),
);
const rule = fc.oneof(
  fc.constant('*'),
  fc.oneof(domainRule, address, labelRule).map((target) => `bind:${target}`),
);

function target(text: string): Target {
  const parsed = parseTarget(text);
  if ('reason' in parsed) throw new Error(`${text}: ${parsed.reason}`);
  return parsed.value;
}

function allows(ruleText: string, requested: string): boolean {
  const parsed = parseRule(ruleText);
  if ('reason' in parsed) throw new Error(`${ruleText}: ${parsed.reason}`);
  return permits(parsed.value, target(requested));
}

/** Pairs that have something in common, since two random texts hardly ever match. */
const related = fc.oneof(
  fc.tuple(rule, request),
  host.chain((name) =>
    fc.tuple(
      fc.constantFrom(`bind:${name}`, `bind:*.${name}`, `bind:${name}:80`, '*'),
      fc.oneof(
        fc.constantFrom(
          name,
          `*.${name}`,
          `x.${name}`,
          `x.y.${name}`,
          `*.x.${name}`,
          `x${name}`,
          `${name}:80`,
          `${name}:81`,
        ),
        mixedCase(name),
      ),
    ),
  ),
  fc
    .tuple(token, token)
    .chain(([key, value]) =>
      fc.tuple(
        fc.constantFrom(`bind:${key}=${value}`, `bind:${key}=*`, `bind:*=${value}`, 'bind:*=*'),
        fc.constantFrom(`${key}=${value}`, `${key}=x`, `x=${value}`, `${key}x=${value}`, key),
      ),
    )
    .filter(([, requested]) => 'value' in parseTarget(requested)),
);

describe('matching', () => {
  test('agrees with a second implementation', () => {
    let matches = 0;
    fc.assert(
      fc.property(related, ([ruleText, requested]) => {
        const expected = oracle(ruleText, requested);
        if (expected) matches++;
        expect(allows(ruleText, requested), `${ruleText} for ${requested}`).toBe(expected);
      }),
      { numRuns: 3000 },
    );
    expect(matches).toBeGreaterThan(300);
  });

  test('of several rules succeeds if any of them matches, and names the first', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), request, (rules, requested) => {
        const matched = rules.find((each) => oracle(each, requested)) ?? null;
        const expected = { allowed: rules.length === 0 || matched !== null, matchedRule: matched };
        expect(decide(rules, target(requested))).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['bind:[2001:db8::1]:443', '[2001:0DB8:0:0::1]:443', true],
    ['bind:[2001:db8::1]:443', '[2001:db8::2]:443', false],
    ['bind:[::192.0.2.1]:443', '[::c000:201]:443', true],
    ['bind:[::192.0.2.1]:443', '[::ffff:192.0.2.1]:443', false],
    ['bind:[::FFFF:192.0.2.1]:443', '[::ffff:c000:201]:443', true],
    ['bind:10.0.0.1:22', '10.0.0.1:22', true],
    ['bind:example.com', 'example.com:443', false],
    ['bind:example.com:443', 'example.com', false],
    ['bind:*.example.com', 'a.example.com:443', false],
    ['bind:*=*', 'example.com', false],
  ])('%s for %s is %s', (ruleText, requested, expected) => {
    expect(allows(ruleText, requested)).toBe(expected);
  });
});

describe('the grammar', () => {
  test('accepts every rule composed of valid parts', () => {
    fc.assert(fc.property(rule, (text) => void expect(parseRule(text)).toHaveProperty('value')));
  });

  test('never throws, and gives a reason for what it refuses', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.string().map((text) => `bind:${text}`),
        ),
        (text) => {
          const parsed = parseRule(text);
          if ('reason' in parsed) expect(parsed.reason.length).toBeGreaterThan(10);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['', /"bind:"/],
    ['**', /"bind:"/],
    ['allow:x', /"bind:"/],
    ['BIND:x.example', /"bind:"/],
    ['bind:', /nothing to bind/],
    ['bind:*', /use the rule "\*"/],
    ['bind:*.', /empty/],
    ['bind:*.*.example', /only once/],
    ['bind:a.*.example', /only once/],
    ['bind:a*.example', /only once/],
    ['bind:.example', /empty label/],
    ['bind:example.', /empty label/],
    ['bind:a..b', /empty label/],
    ['bind:-a.example', /not a host name label/],
    ['bind:a_b.example', /not a host name label/],
    [`bind:${'a'.repeat(64)}.example`, /not a host name label/],
    [`bind:${'a.'.repeat(127)}aa`, /253/],
    ['bind:bücher.example', /xn--bcher-kva\.example/],
    ['bind:a b', /white space/],
    ['bind:host:', /port/],
    ['bind:host:0', /port/],
    ['bind:host:65536', /port/],
    ['bind:host:08', /port/],
    ['bind:host:80:90', /host:port/],
    ['bind:2001:db8::1', /brackets/],
    ['bind:[2001:db8::g]:80', /not an IPv6 address/],
    ['bind:[fe80::1%eth0]:80', /not an IPv6 address/],
    ['bind:*.example:80', /no wildcard/],
    ['bind:=', /key is empty/],
    ['bind:a=', /value is empty/],
    ['bind:=b', /key is empty/],
    ['bind:a=b=c', /exactly one/],
    ['bind:a*=b', /must not contain it/],
    ['bind:a=b*', /must not contain it/],
    ['bind:ü=b', /letters, digits/],
    ['bind:\u212a8s.example.com', /in ASCII \("k8s.example.com"\)/],
  ])('refuses %s', (text, reason) => {
    const parsed = parseRule(text);
    expect('reason' in parsed && parsed.reason).toMatch(reason);
  });

  test('accepts wildcards in a rule, but not in a request for a label', () => {
    expect(parseRule('bind:a=*')).toHaveProperty('value');
    for (const [target, name] of [
      ['a=*', 'value'],
      ['*=b', 'key'],
      ['a*=b', 'key'],
    ] as const)
      expect(parseTarget(target)).toEqual({ reason: `the label's ${name} must not be a wildcard` });
    expect(parseTarget('*.a.example')).toHaveProperty('value');
  });
});

describe('an ACL', () => {
  test('names each malformed rule by its index', () => {
    const result = acl.safeParse(['*', 'bind:', 'bind:a.example', 'nonsense']);
    expect(result.error?.issues.map(({ path }) => path)).toEqual([[1], [3]]);
  });

  test('has a maximum number of rules', () => {
    const rules = Array.from({ length: MAX_ACL_RULES }, (_, n) => `bind:h${n}.example`);
    expect(acl.safeParse(rules).success).toBe(true);
    expect(acl.safeParse([...rules, '*']).success).toBe(false);
  });
});

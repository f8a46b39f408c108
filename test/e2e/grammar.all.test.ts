/** The CRDs check ACL rules and CIDR blocks in CEL, the API in TypeScript. The two must agree on every input. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_ACL_RULE_LENGTH, MAX_ACL_RULES, parseRule } from '../../src/resources/formats/acl.ts';
import { canonicalCidr } from '../../src/resources/formats/cidr.ts';
import { credential, type Manifest, policy } from './manifest.ts';
import { startStack } from './stack.ts';

const stack = await startStack({ prefix: 'grammar', operators: 0 });
const RUNS = { numRuns: 4 };

/** The indexes of those members of the list at `path` that the API server refuses. */
async function refused(manifest: Manifest, path: string): Promise<Set<number>> {
  const { code, stderr } = await stack.tryApply(manifest, '--dry-run=server');
  const found = stderr.matchAll(new RegExp(`(?:^\\* |is invalid: )${RegExp.escape(path)}\\[(\\d+)\\]`, 'gm'));
  const places = new Set([...found].map(([, index]) => Number(index)));
  if (code !== 0 && places.size === 0) throw new Error(stderr.slice(0, 2000));
  return places;
}

const pick = (text: string) => fc.constantFrom(...text);
const word = (characters: string, max: number) =>
  fc.array(pick(characters), { minLength: 1, maxLength: max }).map((all) => all.join(''));
const number = fc.oneof(fc.nat({ max: 70_000 }), fc.constantFrom(0, 1, 128, 129, 255, 256, 65_535, 65_536)).map(String);
const octet = fc.oneof({ weight: 9, arbitrary: fc.nat({ max: 255 }).map(String) }, { weight: 1, arbitrary: number });
const ipv4 = fc.array(octet, { minLength: 4, maxLength: 4 }).map((octets) => octets.join('.'));
const group = fc.oneof(word('0123456789abcdefABCDEF', 4), fc.constantFrom('0', '0000', 'ffff', 'FFFF', '64', 'ff9b'));
const ipv6 = fc.oneof(
  fc.ipV6(),
  fc.array(group, { minLength: 8, maxLength: 8 }).map((groups) => groups.join(':')),
  fc
    .tuple(fc.array(group, { maxLength: 5 }), fc.array(group, { maxLength: 5 }))
    .map(([a, b]) => `${a.join(':')}::${b.join(':')}`),
  fc
    .tuple(fc.constantFrom('::', '::ffff:', '::FFFF:', '0:0:0:0:0:ffff:', '64:ff9b::', '::ffff:0:'), ipv4)
    .map(([a, b]) => a + b),
);
const hostLabel = fc.oneof(word('abcXYZ019-', 8), word('a-', 70));
const host = fc.oneof(
  fc.array(hostLabel, { minLength: 1, maxLength: 5 }).map((all) => all.join('.')),
  fc.domain(),
  ipv4,
);
const longHost = fc
  .integer({ min: 245, max: 260 })
  .map((length) => 'a.'.repeat(200).slice(0, length).replace(/\.$/, 'b'));
const token = fc.oneof(
  word('abAB09._/:-', 12),
  fc.constant('*'),
  fc.integer({ min: 250, max: 260 }).map((n) => 'x'.repeat(n)),
);

const wellFormed = fc.oneof(
  fc.constantFrom('*', 'bind:', 'bind:*', 'bind:*.'),
  fc.tuple(fc.constantFrom('', '*.'), fc.oneof(host, longHost)).map(([wildcard, name]) => `bind:${wildcard}${name}`),
  fc
    .tuple(
      fc.oneof(
        host,
        longHost,
        ipv6.map((address) => `[${address}]`),
      ),
      number,
    )
    .map(([name, port]) => `bind:${name}:${port}`),
  fc.tuple(token, token).map(([key, value]) => `bind:${key}=${value}`),
);

/** `text` with up to two characters inserted and up to three removed. */
function mangled(text: fc.Arbitrary<string>, characters: string): fc.Arbitrary<string> {
  return (
    fc
      .tuple(
        text,
        fc.nat(),
        fc.nat({ max: 3 }),
        fc.oneof(pick(characters), fc.string({ unit: 'binary', maxLength: 2 })),
      )
      .map(([original, at, cut, put]) => {
        const place = at % (original.length + 1);
        return original.slice(0, place) + put + original.slice(place + cut);
      })
      // A lone surrogate cannot be sent: a JSON body is UTF-8.
      .filter((result) => result.isWellFormed())
  );
}

test('the CRD accepts an ACL rule if and only if the API does', async () => {
  const rule = fc.oneof(
    { weight: 3, arbitrary: wellFormed },
    { weight: 2, arbitrary: mangled(wellFormed, '*.:=[]%/ -_\n') },
  );
  // A rule that is too long would keep the API server from checking the others.
  const short = rule.filter((text) => text.length <= MAX_ACL_RULE_LENGTH);
  await fc.assert(
    fc.asyncProperty(fc.array(short, { minLength: 200, maxLength: MAX_ACL_RULES }), async (acl) => {
      const places = await refused(credential('x', { acl }), 'spec.acl');
      const wrong = acl.filter((text, index) => 'reason' in parseRule(text) !== places.has(index));
      expect(wrong).toEqual([]);
    }),
    RUNS,
  );
});

test('the CRD accepts a CIDR block if and only if the API does', async () => {
  const prefix = fc.oneof(
    fc.nat({ max: 130 }).map((length) => `/${length}`),
    fc.constantFrom('', '/32', '/128', '/0', '/96', '/95', '/00', '/'),
  );
  const masked = fc.tuple(ipv4, fc.integer({ min: 0, max: 32 })).map(([address, length]) => {
    const bits = address
      .split('.')
      .map(Number)
      .map((part) => part & 255)
      .reduce((all, part) => all * 256 + part, 0);
    const network = length === 0 ? 0 : (bits & (-1 << (32 - length))) >>> 0;
    return `${[24, 16, 8, 0].map((shift) => (network >>> shift) & 255).join('.')}/${length}`;
  });
  const block = fc.oneof(
    masked,
    fc.tuple(fc.oneof(ipv4, ipv6), prefix).map(([address, length]) => address + length),
  );
  const cidr = fc.oneof({ weight: 3, arbitrary: block }, { weight: 1, arbitrary: mangled(block, '/:.%0f ') });
  const short = cidr.filter((text) => text.length <= 64);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(short, { minLength: 300, maxLength: 500 }), async (blocks) => {
      const rules = blocks.map((text) => ({ cidr: text, action: 'allow' }));
      const places = await refused(policy('x', { rules }), 'spec.rules');
      const wrong = blocks.filter((text, index) => 'reason' in canonicalCidr(text) !== places.has(index));
      expect(wrong).toEqual([]);
    }),
    RUNS,
  );
});

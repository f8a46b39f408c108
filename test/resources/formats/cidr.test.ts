import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalCidr } from '../../../src/resources/formats/cidr.ts';

const v4 = fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }), fc.integer({ min: 0, max: 32 }));
const v6 = fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), fc.integer({ min: 0, max: 128 }));

/** The number with the bits beyond the prefix cleared. */
const network = (value: bigint, length: number, width: number) =>
  (value >> BigInt(width - length)) << BigInt(width - length);
const quads = (value: bigint) => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
const groups = (value: bigint) =>
  Array.from({ length: 8 }, (_, index) => (value >> BigInt(112 - 16 * index)) & 0xffffn);
const hex = (value: bigint) => groups(value).map((group) => group.toString(16));

/** RFC 5952, section 4, from the groups: the first longest run of two or more zeros becomes "::". */
function rfc5952(value: bigint): string {
  const parts = hex(value);
  const runs = [
    ...parts
      .map((part) => (part === '0' ? '0' : '1'))
      .join('')
      .matchAll(/0{2,}/g),
  ];
  const [longest] = runs.toSorted((a, b) => b[0].length - a[0].length || a.index - b.index);
  if (!longest) return parts.join(':');
  return `${parts.slice(0, longest.index).join(':')}::${parts.slice(longest.index + longest[0].length).join(':')}`;
}

describe('the canonical form of a block', () => {
  test('of IPv4 is its network address and prefix length', () => {
    fc.assert(
      fc.property(v4, ([value, length]) => {
        const cidr = `${quads(network(value, length, 32))}/${length}`;
        expect(canonicalCidr(cidr)).toEqual({ cidr });
      }),
    );
  });

  test('of IPv6 follows RFC 5952, however the block is written', () => {
    fc.assert(
      fc.property(v6, fc.boolean(), ([value, length], upper) => {
        const base = network(value, length, 128);
        const written = hex(base)
          .map((group) => group.padStart(4, '0'))
          .join(':');
        const expected = { cidr: `${rfc5952(base)}/${length}` };
        expect(canonicalCidr(`${upper ? written.toUpperCase() : written}/${length}`)).toEqual(expected);
        expect(canonicalCidr(expected.cidr)).toEqual(expected);
      }),
    );
  });

  test('of IPv6 has no IPv4 address at its end, even if the block is written with one', () => {
    const heads = fc.constantFrom<[string, bigint]>(
      ['::', 0n],
      ['0:0:0:0:0:0:', 0n],
      ['::ffff:0:', 0xffffn << 48n],
      ['64:ff9b::', 0x64_ff9bn << 96n],
    );
    fc.assert(
      fc.property(heads, v4, ([head, high], [low]) => {
        expect(canonicalCidr(head + quads(low))).toEqual({ cidr: `${rfc5952(high | low)}/128` });
      }),
    );
  });

  test('of IPv4-mapped addresses is the block of IPv4', () => {
    fc.assert(
      fc.property(v4, ([value, length]) => {
        const expected = { cidr: `${quads(network(value, length, 32))}/${length}` };
        const mapped = (0xffffn << 32n) | network(value, length, 32);
        expect(canonicalCidr(`::ffff:${quads(network(value, length, 32))}/${length + 96}`)).toEqual(expected);
        expect(canonicalCidr(`${rfc5952(mapped)}/${length + 96}`)).toEqual(expected);
      }),
    );
    expect(canonicalCidr('::ffff:10.0.0.1/104')).toHaveProperty('reason', expect.stringContaining('10.0.0.0/8?'));
    expect(canonicalCidr('::/0')).toEqual({ cidr: '::/0' });
  });

  test('of an address alone is the block of that address', () => {
    fc.assert(
      fc.property(v4, ([value]) => void expect(canonicalCidr(quads(value))).toEqual({ cidr: `${quads(value)}/32` })),
    );
    fc.assert(
      fc.property(
        v6,
        ([value]) => void expect(canonicalCidr(rfc5952(value))).toEqual({ cidr: `${rfc5952(value)}/128` }),
      ),
    );
  });

  test('is suggested when a block is refused because bits beyond the prefix are set', () => {
    fc.assert(
      fc.property(v4, ([value, length]) => {
        const base = network(value, length, 32);
        fc.pre(base !== value);
        expect(canonicalCidr(`${quads(value)}/${length}`)).toEqual({
          reason: expect.stringContaining(`did you mean ${quads(base)}/${length}?`),
        });
      }),
    );
  });

  test('covers the same addresses according to the BlockList of Node.js', () => {
    const pair = fc.oneof(fc.tuple(v4, v4), fc.tuple(v6, v6));
    fc.assert(
      fc.property(pair, ([[value, length], [other]]) => {
        const width = value < 2n ** 32n && other < 2n ** 32n ? 32 : 128;
        fc.pre(length <= width);
        const text = width === 32 ? quads : rfc5952;
        const family = width === 32 ? 'ipv4' : 'ipv6';
        const result = canonicalCidr(`${text(network(value, length, width))}/${length}`);
        if ('reason' in result) throw new Error(result.reason);
        const [address = '', prefix] = result.cidr.split('/');
        const list = new BlockList();
        list.addSubnet(address, Number(prefix), isIPv4(address) ? 'ipv4' : 'ipv6');
        expect(list.check(text(value), family)).toBe(true);
        const inside = network(other, length, width) === network(value, length, width);
        expect(list.check(text(other), family)).toBe(inside);
      }),
    );
  });
});

describe('an invalid block', () => {
  test.each([
    '',
    '/',
    '/8',
    '10',
    '10.0.0/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.0.0.0/8 ',
    ' 10.0.0.0/8',
    '010.0.0.0/8',
    '0x0a.0.0.0/8',
    '256.0.0.0/8',
    '1.2.3.4.5/8',
    '::/129',
    ':::/0',
    '2001:db8::1::/64',
    'fe80::1%eth0/128',
    '10.0.0.0/255.0.0.0',
    'example.com/24',
    '１０.0.0.0/8',
  ])('is refused with a reason: "%s"', (text) => {
    expect(canonicalCidr(text)).toHaveProperty('reason');
  });

  test('never throws', () => {
    fc.assert(
      fc.property(fc.string(), (text) => void canonicalCidr(text)),
      { numRuns: 2000 },
    );
  });
});

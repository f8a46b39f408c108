import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalDomain, coveringNames, isBelow } from '../../../src/resources/formats/domain-name.ts';
import { hostnameProblem, lowerCase } from '../../../src/resources/formats/hostname.ts';
import { hostOf, hostport } from '../../../src/resources/formats/hostport.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { hasForm } from './schema-form.ts';

const said = (input: string) => {
  const result = canonicalDomain(input);
  return 'domain' in result ? result.domain : result.reason;
};
const label = (length: number) => 'a'.repeat(length);
/** A name of `length` characters, at least 193. */
const name = (length: number) => [label(63), label(63), label(63), label(length - 192)].join('.');

describe('a domain', () => {
  test.each([
    ['example.com', 'example.com'],
    ['A-1.Example.COM', 'a-1.example.com'],
    ['*.example.com', '*.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['*.Bücher.example', '*.xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['1.example', '1.example'],
    [name(253), name(253)],
    [`*.${name(251)}`, `*.${name(251)}`],
  ])('given as %s is %s', (input, expected) => {
    expect(said(input)).toBe(expected);
  });

  const wildcard = '"*" may appear only once, as the leftmost label, as in *.example.com';
  const idna = 'is not a valid internationalised domain name';
  const address = 'is an IP address, not a domain';
  test.each([
    ['', 'the host name is empty'],
    ['*', wildcard],
    ['*.*.example.com', wildcard],
    ['a.*.example.com', wildcard],
    ['com', 'must have at least two labels, as in example.com'],
    ['*.com', 'must have at least two labels, as in example.com'],
    ['a..example', /empty label/],
    ['-a.example', /^"-a" is not a host name label/],
    ['a_b.example', /^"a_b" is not a host name label/],
    ['192.0.2.1', address],
    ['a.0x7f', address],
    ['a.0x', address],
    ['xn--a.example', idna],
    ['xn--bcher-kva.xn--a', idna],
    ['ü/a.example', idna],
    ['ü@a.example', idna],
    ['ü .example', idna],
    ['ü\u2024example.com', idna],
    [name(254), 'a host name has at most 253 characters, this one has 254'],
    [`*.${name(252)}`, 'has more than 253 characters'],
    [`${label(64)}.example`, /is not a host name label/],
  ])('cannot be "%s": %s', (input, reason) => {
    expect(said(input)).toMatch(reason);
  });

  const piece = fc.oneof(
    fc.constantFrom('a', 'B', '1', '0x1', 'ü', '-', '_', '.', '..', '*', '*.', '10.0.0.1', '。', '\u00ad', ':', ':443'),
    fc.domain(),
  );
  const input = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  const isAscii = (text: string) => /^[!-~]*$/.test(text);

  test.each([
    ['a domain', reservedDomain.create.shape.domain],
    ['a hostport', hostport],
  ])('as %s is refused by the CRD only if it is by the API, and in ASCII if it is', (_, schema) => {
    fc.assert(
      fc.property(input, (text) => {
        fc.pre(!text.includes('xn--'));
        const isAccepted = schema.safeParse(text).success;
        if (isAccepted || isAscii(text)) expect([text, hasForm(schema, text)]).toEqual([text, isAccepted]);
      }),
      { numRuns: 3000 },
    );
  });

  test('is below another one, not below itself', () => {
    expect([
      isBelow('a.b.example', 'b.example'),
      isBelow('b.example', 'b.example'),
      isBelow('ab.example', 'b.example'),
    ]).toEqual([true, false, false]);
  });
});

test.each([
  ['a.b.example', ['a.b.example', '*.b.example', '*.example']],
  ['*.b.example', ['*.b.example', '*.example']],
  ['example', ['example']],
])('the names that cover %s are %o', (host, expected) => {
  expect(coveringNames(host)).toEqual(expected);
});

describe('a hostport', () => {
  const read = (input: string) => {
    const { success, data, error } = hostport.safeParse(input);
    return success ? data : error.issues[0]?.message;
  };
  test.each([
    ['App.example.com:443', 'app.example.com:443'],
    ['*.example.com:1', '*.example.com:1'],
    ['a.example:65535', 'a.example:65535'],
  ])('given as %s is %s', (input, expected) => {
    expect(read(input)).toBe(expected);
  });

  const form = 'must have the form domain:port, as in app.example.com:443';
  test.each([
    ['a.example', form],
    ['a.example:', form],
    ['a.example:0', form],
    ['a.example:01', form],
    ['a.example:65536', form],
    ['a.example:443:444', form],
    [':443', form],
    ['com:443', 'the domain: must have at least two labels, as in example.com'],
    ['x'.repeat(1025), 'must be at most 1024 characters'],
  ])('cannot be %s: %s', (input, reason) => {
    expect(read(input)).toBe(reason);
  });

  test('has the domain before its port', () => {
    expect(hostOf('*.example.com:443')).toBe('*.example.com');
  });
});

describe('a host name', () => {
  test.each(['a', 'a-b.c1', label(63), name(253), '1'])('may be %s', (host) => {
    expect(hostnameProblem(host)).toBeUndefined();
  });

  test.each([
    ['', 'the host name is empty'],
    [name(254), 'a host name has at most 253 characters, this one has 254'],
    ['bücher', 'write international names in ASCII ("xn--bcher-kva")'],
    ['ü b', 'write international names in ASCII'],
    ['a..b', /^the host name has an empty label/],
    ['a.', /^the host name has an empty label/],
    ['a-', /^"a-" is not a host name label/],
    [label(70), new RegExp(`^"${label(63)}" is not a host name label`)],
  ])('cannot be "%s": %s', (host, reason) => {
    expect(hostnameProblem(host)).toMatch(reason);
  });

  test('is put in lower case only in its ASCII letters', () => {
    expect(lowerCase('ABz\u212a')).toBe('abz\u212a');
  });
});

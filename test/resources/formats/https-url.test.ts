import { describe, expect, test } from 'vitest';
import { httpsUrl, issuerUrl } from '../../../src/resources/formats/https-url.ts';

const reason = (schema: typeof httpsUrl, input: string) => schema.safeParse(input).error?.issues[0]?.message;
const long = (length: number) => `https://a.example/${'x'.repeat(length - 'https://a.example/'.length)}`;

describe('an https address', () => {
  test.each([
    'https://a.example',
    'HTTPS://A.example:8443/b/c?d=e&f=?',
    'https://a.example?b',
    'https://192.0.2.1/',
    'https://[2001:db8::1]:443/',
    "https://a.example/-._~!$&'()*+,;=:@%20",
    long(2048),
  ])('is accepted: %s', (input) => {
    expect(httpsUrl.parse(input)).toBe(input);
  });

  const ascii = 'must be an https URL in ASCII, with other characters percent-encoded';
  test.each([
    ['', 'must be an https URL'],
    ['a.example', 'must be an https URL'],
    ['https://a.example/a b', 'must be an https URL'],
    [' https://a.example', 'must be an https URL'],
    ['http://a.example', 'must be an https URL, but is http'],
    ['ftp://a.example', 'must be an https URL, but is ftp'],
    ['https://me@a.example', 'must not have a user name or password'],
    ['https://:pw@a.example', 'must not have a user name or password'],
    ['https://a.example/#b', 'must not have a fragment'],
    ['https://a.example/#', 'must not have a fragment'],
    ['https://ä.example', ascii],
    ['https://a.example/ä', ascii],
    ['https://a.example/%2', ascii],
    ['https:\\\\a.example', ascii],
    ['https:a.example', ascii],
    [long(2049), 'must be at most 2048 characters'],
  ])('is refused: %s: %s', (input, expected) => {
    expect(reason(httpsUrl, input)).toBe(expected);
  });

  test('of an issuer must not have a query either', () => {
    expect(issuerUrl.parse('https://a.example/b')).toBe('https://a.example/b');
    expect(reason(issuerUrl, 'https://a.example/?')).toBe('must not have a query');
    expect(reason(issuerUrl, 'http://a.example/?')).toBe('must be an https URL, but is http');
  });
});

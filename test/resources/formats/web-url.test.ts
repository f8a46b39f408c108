import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { issuerUrl, webUrl } from '../../../src/resources/formats/web-url.ts';
import { hasForm } from './schema-form.ts';

const reason = (schema: typeof webUrl, input: string) => schema.safeParse(input).error?.issues[0]?.message;
const long = (length: number) => `https://a.example/${'x'.repeat(length - 'https://a.example/'.length)}`;

describe('a web address', () => {
  test.each([
    'https://a.example',
    'HTTPS://A.example:8443/b/c?d=e&f=?',
    'https://a.example?b',
    'http://broker.internal:8080/ns/default',
    'https://192.0.2.1/',
    'https://[2001:db8::1]:443/',
    "https://a.example/-._~!$&'()*+,;=:@%20",
    long(2048),
  ])('is accepted: %s', (input) => {
    expect(webUrl.parse(input)).toBe(input);
  });

  const ascii = 'must be an https URL in ASCII, with other characters percent-encoded';
  test.each([
    ['', 'must be an https URL'],
    ['a.example', 'must be an https URL'],
    ['https://a.example/a b', 'must be an https URL'],
    [' https://a.example', 'must be an https URL'],
    ['ftp://a.example', 'must be an https URL, but is ftp'],
    ['https://me@a.example', 'must not have a user name or password'],
    ['https://:pw@a.example', 'must not have a user name or password'],
    ['https://a.example/#b', 'must not have a fragment'],
    ['https://a.example/#', 'must not have a fragment'],
    ['https://ä.example', 'write international names in ASCII ("xn--4ca.example")'],
    ['https://hook_1.example.com/x', expect.stringMatching(/^"hook_1" is not a host name label/)],
    ['https://./', expect.stringMatching(/empty label/)],
    ['https://hooks..example.com', expect.stringMatching(/empty label/)],
    ['https://-a.example', expect.stringMatching(/^"-a" is not a host name label/)],
    ['https://0x7f000001/hook', expect.stringMatching(/^"0x7f000001" is neither a host name nor an IPv4 address/)],
    ['https://2130706433', expect.stringMatching(/neither/)],
    ['https://127.1/', expect.stringMatching(/neither/)],
    ['https://0177.0.0.1/', expect.stringMatching(/neither/)],
    ['https://[::g]/', '"::g" is not an IPv6 address'],
    ['https://a.example:0', 'the port must be a number from 1 to 65535'],
    ['https://a.example:65536', 'the port must be a number from 1 to 65535'],
    ['https://a.example:/', 'the port must be a number from 1 to 65535'],
    ['https://a.example/ä', ascii],
    ['https://a.example/%2', ascii],
    ['https:\\\\a.example', ascii],
    ['https:a.example', ascii],
    [long(2049), 'must be at most 2048 characters'],
  ])('is refused: %s: %s', (input, expected) => {
    expect(reason(webUrl, input)).toEqual(expected);
  });

  const piece = fc.oneof(
    fc.constantFrom(
      'https://',
      'HTTP://',
      'a',
      '0x7f',
      '127.0.0.1',
      '256.1',
      '[::1]',
      '2130706433',
      '.',
      '..',
      '-',
      '_',
    ),
    fc.constantFrom(':', ':0', ':443', ':65536', '/', '?', '#', '@', '%20', 'ä', '/.well-known/openid-configuration'),
    fc.domain(),
  );
  const url = fc
    .array(piece, { maxLength: 6 })
    .chain((pieces) => fc.constantFrom('https://', 'http://').map((scheme) => scheme + pieces.join('')));

  test.each([
    ['of a webhook', webUrl],
    ['of an issuer', issuerUrl],
  ])('%s is accepted by the CRD exactly if it is by the API, apart from IPv6', (_, schema) => {
    fc.assert(
      fc.property(fc.oneof(url, fc.webUrl({ validSchemes: ['https', 'http'] })), (input) => {
        fc.pre(!input.includes('['));
        expect([input, hasForm(schema, input)]).toEqual([input, schema.safeParse(input).success]);
      }),
      { numRuns: 3000 },
    );
  });

  test('of an issuer must not have a query either', () => {
    expect(issuerUrl.parse('https://a.example/b')).toBe('https://a.example/b');
    expect(reason(issuerUrl, 'https://a.example/?')).toBe('must not have a query');
    expect(reason(issuerUrl, 'http://a.example/?')).toBe('must be an https URL, but is http');
  });

  test.each([
    ['https://a.example/.well-known/openid-configuration', 'https://a.example'],
    ['https://a.example/b/v2.0/.well-known/openid-configuration/', 'https://a.example/b/v2.0'],
    ['https://a.example/.well-known/oauth-authorization-server', 'https://a.example'],
  ])('of an issuer is not that of its document: %s', (input, issuer) => {
    expect(reason(issuerUrl, input)).toContain(`write "${issuer}"`);
    expect(issuerUrl.parse(issuer)).toBe(issuer);
  });
});

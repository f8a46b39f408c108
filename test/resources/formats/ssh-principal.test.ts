import { describe, expect, test } from 'vitest';
import { canonicalPrincipal } from '../../../src/resources/formats/ssh-principal.ts';

describe('a principal', () => {
  // The hostname that `ssh -G <address>` prints, which ssh looks for in a certificate (OpenSSH 9.2 with glibc).
  test.each([
    ['::ffff:1.2.3.4', '::ffff:1.2.3.4'],
    ['::FFFF:0102:304', '::ffff:1.2.3.4'],
    ['0:0:0:0:0:ffff:1.2.3.4', '::ffff:1.2.3.4'],
    ['::ffff:0:0', '::ffff:0.0.0.0'],
    ['::1.2.3.4', '::1.2.3.4'],
    ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
    ['::ffff:0:1.2.3.4', '::ffff:0:102:304'],
    ['2001:DB8:0:0::0001', '2001:db8::1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:2:0:3:0:4:0', '1:0:2:0:3:0:4:0'],
    ['::5', '::5'],
    ['::', '::'],
    ['192.0.2.1', '192.0.2.1'],
    ['WEB-1.Example.com', 'web-1.example.com'],
    ['*', '*'],
    ['*.Web.example.com', '*.web.example.com'],
    ['web-??', 'web-??'],
    ['192.0.2.*', '192.0.2.*'],
    ['2001:DB8::*', '2001:db8::*'],
  ])('given as %s has the name that ssh looks for: %s', (input, principal) => {
    expect(canonicalPrincipal(input)).toEqual({ principal });
  });

  test.each([
    '::1.2.3',
    '::1.2.3.04',
    '1::2::3',
    'fe80::1%eth0',
    '::ffff:1.2.3.256',
    '::1 ',
    '[::1]',
    '1.2.3.04',
    '1.2.3',
    'host.\u212aube.example',
    '*.web_1.example',
    'web-*,!web-1',
    '[*]:22',
    `*${'a'.repeat(253)}`,
  ])('cannot be %s', (input) => {
    expect(canonicalPrincipal(input)).toHaveProperty('reason');
  });

  test('has no port', () => {
    const reason = '"10.0.0.1:22" must be a host name or an IP address, without a port and without brackets';
    expect(canonicalPrincipal('10.0.0.1:22')).toEqual({ reason });
  });
});

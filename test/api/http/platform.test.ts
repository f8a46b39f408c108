import { expect, test } from 'vitest';
import { acmeAuthority, serviceDomains } from '../../../src/api/http/platform.ts';

test.each([
  ['tunnels.example.com', ['tunnels.example.com']],
  [' One.example , two.example', ['one.example', 'two.example']],
])('service domains are a comma-separated list: %s', (list, expected) => {
  expect(serviceDomains.parse(list)).toEqual(expected);
});

test.each([
  ['', '"": the host name is empty'],
  ['a.example,', '"": the host name is empty'],
  ['a.example, b', '"b": must have at least two labels, as in example.com'],
  ['*.a.example', '"*.a.example": name the domain itself; that includes all names below it'],
])('service domains may not be "%s"', (list, reason) => {
  expect(serviceDomains.safeParse(list).error?.issues.map(({ message }) => message)).toEqual([reason]);
});

test.each([
  ['letsencrypt', true],
  ['a', true],
  ['a-1_b', true],
  [`a${'b'.repeat(62)}`, true],
  [`a${'b'.repeat(63)}`, false],
  ['', false],
  ['Two', false],
  ['two words', false],
  ['1a', false],
])('the ACME authority may be called "%s": %s', (name, expected) => {
  expect(acmeAuthority.safeParse(name).success).toBe(expected);
});

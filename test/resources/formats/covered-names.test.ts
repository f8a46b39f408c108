import { expect, test } from 'vitest';
import { isCovered, notCovered } from '../../../src/resources/formats/covered-names.ts';

test.each([
  ['app.example.com', ['app.example.com'], true],
  ['app.example.com', ['APP.Example.com'], true],
  ['app.example.com', ['other.example.com', '*.example.com'], true],
  ['*.example.com', ['*.example.com'], true],
  ['xn--bcher-kva.example.com', ['xn--bcher-kva.example.com'], true],
  ['xn--bcher-kva.example.com', ['*.example.com'], true],
  ['deep.app.example.com', ['*.example.com'], false],
  ['example.com', ['*.example.com'], false],
  ['*.app.example.com', ['*.example.com', 'app.example.com'], false],
  ['*.example.com', ['app.example.com', 'example.com'], false],
  ['app.example.com', ['a*.example.com', '*', 'app.*.com', 'xapp.example.com'], false],
  ['app.example.com', [], false],
])('%s by a certificate for %j: %s', (domain, names, expected) => {
  expect(isCovered(domain, names)).toBe(expected);
});

test('what is said of a mismatch names the domain and a few names, each in part', () => {
  expect(notCovered('a.example.com', [])).toBe(
    'has no host names in its subject alternative names, so it is not for a.example.com',
  );
  expect(notCovered('a.example.com', ['b.example.com', '*.c.example.com'])).toBe(
    'is for b.example.com, *.c.example.com, not for a.example.com',
  );
  expect(notCovered('a.example.com', [...'12345678'])).toBe('is for 1, 2, 3, 4, 5 and 3 more, not for a.example.com');
  expect(notCovered('a.example.com', ['x'.repeat(5000)]).length).toBeLessThan(300);
});

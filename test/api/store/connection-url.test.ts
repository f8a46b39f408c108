import { expect, test } from 'vitest';
import { connectionUrlProblem, withoutSecrets } from '../../../src/api/store/connection-url.ts';

test.each([
  'postgres://u:p@one/db',
  'postgresql://u:p@[2001:db8::1]:6000/db?sslmode=verify-full',
  'postgres://u:p%40%2F@one:1/db?options=-c%20a%3Db&target_session_attrs=read-write',
  'postgres://u:a,b@one/db',
  'postgres://%2Fvar%2Frun/db',
  'postgres://u:p@/db?host=%2Fvar%2Frun',
  'postgres:///db',
])('%s is accepted', (url) => {
  expect(connectionUrlProblem(url)).toBeUndefined();
});

test.each([
  'postgres://u:hidden@one,two/db',
  'postgres://u:hidden@one:5432,two:5433/db?target_session_attrs=read-write',
  'postgres://u:hidden@/db?host=one,two',
])('%s is refused: one host only', (url) => {
  expect(connectionUrlProblem(url)).toMatch(/^(?!.*hidden)must name one host/);
});

test.each([
  'mysql://u:hidden@one/db',
  'one/db',
  'postgres://u:hidden@one:port/db',
  'postgres://u:hidden@[::1/db',
  'postgres://u:/hidden@one/db',
  'postgres://u:7/hidden@one/db',
  'postgres://u:h@x/hidden@one/db',
  'postgres://u:7?hid=den@one/db',
  'postgres://u:7#hidden@one/db',
])('%s is refused, and its password not repeated', (url) => {
  expect(connectionUrlProblem(url)).toMatch(/^(?!.*hidden)must be a postgres:\/\/ URL/);
});

test.each([
  ['postgres://u:hidden@one:5432/db?password=hidden', 'one:5432/db'],
  ['postgres://u:h%2Fidden@[::1]:5432/db?sslmode=disable', '[::1]:5432/db'],
  ['postgres:///db', '/db'],
  ['u:hidden@one', ''],
])('%s is shown as %s', (text, shown) => {
  expect(withoutSecrets(text)).toBe(shown);
});

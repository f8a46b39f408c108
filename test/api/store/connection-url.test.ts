import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { readConnectionUrl, withoutSecrets } from '../../../src/api/store/connection-url.ts';

/** What pg makes of each URL. */
function servers(text: string) {
  return readConnectionUrl(text).servers.map(({ url }) => {
    const { host, port, user, password, database } = new pg.Client(url);
    return { host, port, user, password, database };
  });
}

const of = (host: string, port = 5432) => ({ host, port, user: 'u', password: 'p', database: 'db' });

describe('the hosts of a connection URL', () => {
  test.each([
    ['postgres://u:p@one/db', [of('one')]],
    ['postgres://u:p@one,two/db', [of('one'), of('two')]],
    ['postgresql://u:p@one:6000,two:6001/db', [of('one', 6000), of('two', 6001)]],
    ['postgres://u:p@one,two:6001/db', [of('one'), of('two', 6001)]],
    ['postgres://u:p@one,two/db?port=6000', [of('one', 6000), of('two', 6000)]],
    ['postgres://u:p@[2001:db8::1]:6000,[::1],192.0.2.1/db', [of('2001:db8::1', 6000), of('::1'), of('192.0.2.1')]],
    ['postgres://u:p@%2Fvar%2Frun%2Fone,two/db', [of('/var/run/one'), of('two')]],
    ['postgres://u:p@/db?host=one,two&port=6000', [of('one', 6000), of('two', 6000)]],
    ['postgres://u:p@/db?host=%2Fvar%2Frun', [of('/var/run')]],
    ['postgres://u:p@ignored/db?host=one,two&port=6000', [of('one', 6000), of('two', 6000)]],
    ['postgres://u:p@ignored/db?host=one,%2Fvar%2Frun&port=6000,6001', [of('one', 6000), of('/var/run', 6001)]],
    ['postgres://u:p@ignored/db?host=one', [of('one')]],
  ])('%s', (text, expected) => {
    expect(servers(text)).toEqual(expected);
  });

  test('share user, password and database, with every character in them', () => {
    const secret = 'p@s,s:w/o?r#d';
    const text = `postgres://us%40er:${encodeURIComponent(secret)}@one,two:6001/my%20db?sslmode=disable`;
    const common = { user: 'us@er', password: secret, database: 'my db' };
    expect(servers(text)).toEqual([
      { host: 'one', port: 5432, ...common },
      { host: 'two', port: 6001, ...common },
    ]);
  });

  test('share the parameters', () => {
    const several = readConnectionUrl('postgres://u@one,two/db?sslmode=no-verify&application_name=x').servers;
    for (const { url } of several) expect(new pg.Client(url).ssl).toEqual({ rejectUnauthorized: false });
  });

  test('leave a URL of one host as it is', () => {
    const text = 'postgres://u:p%40@one:1/db?options=-c%20a%3Db&sslmode=verify-full';
    expect(readConnectionUrl(text)).toEqual({ servers: [{ url: text, name: 'one:1' }], wanted: 'any' });
  });

  test.each([
    ['postgres://u:p@one,[::1]:6000/db', ['one', '[::1]:6000']],
    ['postgres:///db?host=one,two&port=6000', ['one:6000', 'two:6000']],
    ['postgres:///db?host=one,%2Fvar%2Frun', ['one', '/var/run']],
  ])('have the names in messages that they have there: %s', (text, names) => {
    expect(readConnectionUrl(text).servers.map(({ name }) => name)).toEqual(names);
  });
});

describe('the kind of server that is wanted', () => {
  test.each([
    ['postgres://one/db', 'any'],
    ['postgres://one,two/db', 'read-write'],
    ['postgres://one/db?target_session_attrs=read-write', 'read-write'],
    ['postgres://one,two/db?target_session_attrs=any', 'any'],
    ['postgres://one,two/db?target_session_attrs=primary&sslmode=disable', 'primary'],
  ])('%s: %s', (text, wanted) => {
    expect(readConnectionUrl(text).wanted).toBe(wanted);
  });

  test.each(['standby', 'prefer-standby', 'read-only', '', 'READ-WRITE'])('cannot be "%s"', (value) => {
    expect(() => readConnectionUrl(`postgres://u:hidden@one,two/db?target_session_attrs=${value}`)).toThrow(
      'parameter target_session_attrs must be any, read-write or primary',
    );
  });
});

test.each([
  'mysql://u:hidden@one/db',
  'one/db',
  'postgres://u:hidden@one,/db',
  'postgres://u:hidden@,one/db',
  'postgres://u:hidden@one,:5432/db',
  'postgres://u:hidden@one:port,two/db',
  'postgres://u:hidden@one:5432:5433,two/db',
  'postgres://u:hidden@one:70000,two/db',
  'postgres://u:hidden@[::1,two/db',
  'postgres://u:hidden@ignored/db?host=one,two,three&port=1,2',
  'postgres://u:hidden@ignored/db?host=one,',
  'postgres://u:/hidden@one/db',
  'postgres://u:7/hidden@one/db',
  'postgres://u:7/hid=den@one/db?sslmode=disable',
  'postgres://u:h@x/hidden@one/db',
  'postgres://u:7?hidden@one/db',
  'postgres://u:7?hid=den@one/db',
  'postgres://u:h@x?hidden@one/db',
  'postgres://u:7?hidden&more@one/db',
  'postgres://u:7#hidden@one/db',
])('%s is refused, and its password not repeated', (text) => {
  expect(() => readConnectionUrl(text)).toThrow(/^(?!.*hidden).*must be/);
});

test.each([
  ['postgres://u:hidden@one:5432,two/db?password=hidden', 'one:5432,two/db'],
  ['postgres://u:h%2Fidden@[::1]:5432/db?sslmode=disable', '[::1]:5432/db'],
  ['postgres:///db', '/db'],
  ['u:hidden@one', ''],
])('%s is shown as %s', (text, shown) => {
  expect(withoutSecrets(text)).toBe(shown);
});

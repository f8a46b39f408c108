import { describe, expect, test } from 'vitest';
import { credentialsOf } from '../../../src/api/http/authentication.ts';

const OWNER = {
  id: 'ak_1',
  owner_id: 'usr_1',
  admin: false,
  active: true,
  is_viewer: false,
  scopes: null,
  expires_at: null,
  expired: null,
  use_due: false,
  installation: 'one',
  account_id: 'acc_1',
  requests_per_second: null,
  account_goes: false,
};

/** A database that returns these rows, and the statements sent to it. */
function found(...rows: Record<string, unknown>[]) {
  const asked: unknown[] = [];
  const query = async (statement: unknown) => {
    asked.push(statement);
    return rows;
  };
  return { query, asked };
}

describe('an Authorization header', () => {
  test.each([['Bearer secret'], ['bearer   secret']])('%j names a key', async (header) => {
    const { fingerprint, caller } = credentialsOf(header);
    expect(fingerprint).toBe(credentialsOf('Bearer secret').fingerprint);
    expect(fingerprint).not.toContain('secret');
    const db = found(OWNER);
    expect(await caller(db)).toEqual({
      id: 'usr_1',
      principal: 'usr_1',
      account: 'acc_1',
      requestsPerSecond: null,
      admin: false,
      isViewer: false,
      scopes: null,
      isPlatformAdmin: false,
      isVisiting: false,
      keyId: 'ak_1',
      keyExpiresAt: null,
      secret: 'secret',
      installation: 'one',
    });
    expect(db.asked).toEqual([expect.objectContaining({ name: 'authenticate', values: [fingerprint] })]);
  });

  test.each([
    [undefined, /^An API key is required/],
    ['', /must have the form/],
    ['secret', /must have the form/],
    ['Basic secret', /must have the form/],
    [`Bearer ${'x'.repeat(513)}`, /must have the form/],
  ])('%j names no key, and the database is not queried', async (header, message) => {
    const { fingerprint, caller } = credentialsOf(header);
    expect(fingerprint).toBeUndefined();
    const db = found(OWNER);
    await expect(caller(db)).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringMatching(message),
    });
    expect(db.asked).toEqual([]);
  });
});

test.each([
  ['unknown', []],
  ['expired', [{ ...OWNER, expired: true }]],
  ['inactive', [{ ...OWNER, active: false }]],
])('a key that is %s is refused', async (why, rows) => {
  await expect(credentialsOf('Bearer secret').caller(found(...rows))).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    message: expect.stringContaining(why),
  });
});

test('a key that has not expired yet is accepted', async () => {
  const admin = { ...OWNER, admin: true, expired: false };
  expect(await credentialsOf('Bearer secret').caller(found(admin))).toMatchObject({ admin: true });
});

test.each([
  ['due', true, ['ak_1']],
  ['recorded already', false, []],
])('the use of a key is noted if that is %s', async (_, use_due, expected) => {
  const noted: string[] = [];
  await credentialsOf('Bearer secret').caller(found({ ...OWNER, use_due }), { note: (id) => void noted.push(id) });
  expect(noted).toEqual(expected);
});

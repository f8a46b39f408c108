import { describe, expect, test } from 'vitest';
import { CALLER } from '../../../dev/fixtures/caller.ts';
import { OPERATIONS } from '../../../src/api/families/all.ts';
import type { Caller } from '../../../src/api/http/authentication.ts';
import { authorize } from '../../../src/api/http/authorization.ts';
import type { Operation, Permission } from '../../../src/api/http/operation.ts';
import { includes, SCOPED, scopeProblem } from '../../../src/resources/scopes.ts';

const POLICIES: Permission = { access: 'anyone', family: 'ip_policies' };
const USERS: Permission = { access: 'admin', family: 'users' };
const ACCOUNTS: Permission = { access: 'platform', family: 'accounts' };
const EVERY_KEY: Permission = { access: 'anyone', family: null };

const editor = { admin: false, isPlatformAdmin: false };
const viewer = { ...editor, isViewer: true };

/** What is refused, if anything, to this caller. */
function refusal(who: Partial<Caller>, permission: Permission, method: Operation['method'] = 'GET', more?: Permission) {
  try {
    authorize({ ...CALLER, ...who }, { ...permission, method, permissionFor: () => more }, {});
    return undefined;
  } catch (error) {
    return error;
  }
}

const denied = (message: RegExp) =>
  expect.objectContaining({ code: 'PERMISSION_DENIED', message: expect.stringMatching(message) });

describe('a role', () => {
  test.each([
    ['an admin of the first account', {}, ACCOUNTS, 'POST', undefined],
    ['an admin of another one', { isPlatformAdmin: false }, ACCOUNTS, 'GET', /^Only admins of the first account/],
    ['an editor', editor, POLICIES, 'POST', undefined],
    ['an editor', editor, USERS, 'GET', /^Only admins may/],
    ['a viewer', viewer, POLICIES, 'GET', undefined],
    ['a viewer', viewer, POLICIES, 'POST', /is a viewer, who may only read/],
    ['a viewer', viewer, EVERY_KEY, 'DELETE', /is a viewer/],
    ['a viewer', viewer, USERS, 'GET', /^Only admins may/],
  ] as const)('%s: %o %o %s', (_, who, permission, method, message) => {
    expect(refusal(who, permission, method)).toEqual(message && denied(message));
  });
});

describe('a scope', () => {
  test.each([
    ['ip_policies:read', POLICIES, 'GET', undefined],
    ['ip_policies:read', POLICIES, 'PATCH', /lacks the scope ip_policies:write/],
    ['ip_policies:write', POLICIES, 'GET', undefined],
    ['ip_policies:write', POLICIES, 'DELETE', undefined],
    ['ip_policies:write', USERS, 'GET', /lacks the scope users:read/],
    ['*:read', USERS, 'GET', undefined],
    ['*:read', USERS, 'POST', /lacks the scope users:write/],
    ['users:read', EVERY_KEY, 'GET', undefined],
  ] as const)('%s: %o %s', (scope, permission, method, message) => {
    expect(refusal({ scopes: [scope] }, permission, method)).toEqual(message && denied(message));
  });

  test('gives no more than the role of the owner', () => {
    expect(refusal({ ...editor, scopes: ['users:write'] }, USERS, 'POST')).toEqual(denied(/^Only admins/));
    expect(refusal({ ...viewer, scopes: ['ip_policies:write'] }, POLICIES, 'POST')).toEqual(denied(/viewer/));
  });
});

test('an operation on a resource of any family asks what that family does', () => {
  expect(refusal({ scopes: ['ip_policies:write'] }, EVERY_KEY, 'PUT', POLICIES)).toBeUndefined();
  expect(refusal({ scopes: ['tls_edges:write'] }, EVERY_KEY, 'PUT', POLICIES)).toEqual(denied(/ip_policies:write/));
  expect(refusal(editor, EVERY_KEY, 'PUT', USERS)).toEqual(denied(/^Only admins/));
});

test('there are scopes for the families of all operations, and for no other', () => {
  const families = OPERATIONS.flatMap(({ family }) => family ?? []);
  expect([...new Set(families)].sort()).toEqual(SCOPED);
});

test('a text that names no family is no scope', () => {
  expect(scopeProblem('ip_policy:read')?.reason).toMatch(/^is not a scope: .*\*:read.*, ip_policies, /);
  expect([scopeProblem('*:read'), scopeProblem('ip_policies:write')]).toEqual([undefined, undefined]);
});

test.each([
  ['*:read', ['*:read'], true],
  ['*:read', ['ip_policies:write'], false],
  ['ip_policies:read', ['*:read'], true],
  ['ip_policies:write', ['*:read'], false],
  ['ip_policies:read', ['ip_policies:write'], true],
  ['ip_policies:write', ['ip_policies:read'], false],
])('%s within %o: %s', (scope, scopes, expected) => expect(includes(scopes, scope)).toBe(expected));

/** Who may use which operation: the table that permissions.test.ts plays and docs/permissions.md publishes. */
import { OPERATIONS } from '../../src/api/families/all.ts';
import { eventLog } from '../../src/resources/event.ts';
import { FAMILIES } from '../../src/resources/families.ts';

export const CALLERS = ['admin', 'user', 'active bot', 'viewer', 'inactive bot', 'expired key', 'no key'] as const;
/** An admin's key with these scopes. Scopes differ from key to key, so the page has no column for it. */
export const SCOPED_KEY = 'scoped key';
export const SCOPES = ['*:read', 'ip_policies:write'];
/** Managers belong to the family of the resource, which is an IP policy in these tests. */
const IN_SCOPE = /^\/ip_policies(\/|$)|^\/resource_managers\/\{resource_id\}$/;
export type CallerKind = (typeof CALLERS)[number] | typeof SCOPED_KEY;

/** `own`: on the caller's own resources; others are 404 and in no list. A status: refused with it. */
export type Verdict = 'yes' | 'own' | 401 | 403;

export type Permission = Readonly<Record<CallerKind, Verdict>>;

const UNKNOWN = { 'inactive bot': 401, 'expired key': 401, 'no key': 401 } as const;

/** By method and path. Follows from the `access` in the definition of each family. */
export const PERMISSIONS: Readonly<Record<string, Permission>> = Object.fromEntries(
  OPERATIONS.map(({ method, path, access }) => {
    const isRead = method === 'GET';
    const editor = access !== 'anyone' ? 403 : isOwned(path) ? 'own' : 'yes';
    const scoped = isRead || IN_SCOPE.test(path) ? 'yes' : 403;
    const roles = { admin: 'yes', user: editor, 'active bot': editor, viewer: isRead ? editor : 403 } as const;
    return [`${method} ${path}`, { ...roles, [SCOPED_KEY]: scoped, ...UNKNOWN }];
  }),
);

function isOwned(path: string): boolean {
  const owned = [...FAMILIES.filter(({ access }) => access === 'owner'), eventLog];
  return owned.some((each) => `${path}/`.startsWith(`${each.path}/`));
}

/** Who may use which operation: the table that permissions.test.ts plays and docs/permissions.md publishes. */
import { OPERATIONS } from '../../src/api/families/all.ts';
import { eventLog } from '../../src/resources/event.ts';
import { FAMILIES } from '../../src/resources/families.ts';

export const CALLERS = ['admin', 'user', 'active bot', 'inactive bot', 'expired key', 'no key'] as const;
export type CallerKind = (typeof CALLERS)[number];

/** `own`: on the caller's own resources; others are 404 and in no list. A status: refused with it. */
export type Verdict = 'yes' | 'own' | 401 | 403;

export type Permission = Readonly<Record<CallerKind, Verdict>>;

const UNKNOWN = { 'inactive bot': 401, 'expired key': 401, 'no key': 401 } as const;
const anyone: Permission = { admin: 'yes', user: 'yes', 'active bot': 'yes', ...UNKNOWN };
const owners: Permission = { admin: 'yes', user: 'own', 'active bot': 'own', ...UNKNOWN };
const admins: Permission = { admin: 'yes', user: 403, 'active bot': 403, ...UNKNOWN };

/** By method and path. Follows from the `access` in the definition of each family. */
export const PERMISSIONS: Readonly<Record<string, Permission>> = Object.fromEntries(
  OPERATIONS.map(({ method, path, access }) => [
    `${method} ${path}`,
    access === 'admin' || access === 'platform' ? admins : isOwned(path) ? owners : anyone,
  ]),
);

function isOwned(path: string): boolean {
  const owned = [...FAMILIES.filter(({ access }) => access === 'owner'), eventLog];
  return owned.some((each) => `${path}/`.startsWith(`${each.path}/`));
}

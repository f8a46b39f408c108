/** The roles of users and bots. Only a role that somebody has set is stored and shown; without one, `admin` decides. */
import { z } from 'zod';
import { orNone } from './definition/none.ts';
import { field } from './definition/resource.ts';

const ROLES = ['admin', 'editor', 'viewer'] as const;
const VIEWERS = 'A `viewer` reads what an `editor` may read, except secrets, and changes nothing.';

/** The role of a user. */
export const userRole = roleField(
  z.enum(ROLES),
  `${VIEWERS} \`admin\` is the same as \`admin: true\`. By default, \`admin\` decides: an admin, or else an editor.`,
);

/** The role of a bot. */
export const botRole = roleField(z.enum(ROLES).exclude(['admin']), `${VIEWERS} Default \`editor\`.`);

function roleField<T extends z.ZodEnum>(role: T, description: string) {
  const schema = role.meta({ description });
  return field(schema.optional(), orNone(schema), 'optional', true, null);
}

type Members = Readonly<Record<string, unknown>>;

/** Refuses a request whose `role` and `admin` contradict each other. */
export function checkRole({ role, admin }: Members, context: z.RefinementCtx): void {
  if (typeof role !== 'string' || typeof admin !== 'boolean' || (role === 'admin') === admin) return;
  const message = `contradicts "admin", which is ${admin}: set one of the two, or both alike`;
  context.addIssue({ code: 'custom', path: ['role'], message, input: role });
}

/** Both members after a change: the one that has not changed follows the other. */
export function agreed({ role, admin }: Members, before: Members = {}) {
  const hasNewRole = typeof role === 'string' && role !== before.role;
  if (hasNewRole) return { role, admin: role === 'admin' };
  if (typeof role !== 'string' || (role === 'admin') === admin) return { role, admin };
  return { role: admin === true ? 'admin' : 'editor', admin };
}

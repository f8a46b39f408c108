/** The rows about whom a family is for. */
import type { Access } from '../../src/resources/definition/resource.ts';
import { created, get, ok, post, type Row, refused } from './row.ts';
import type { Subject } from './subject.ts';

/** Whom a family is for; of what has owners there is more to say, in rows of its own. */
export function accessRows(access: Access, subject: Subject): Row[] {
  if (access === 'owner') return [];
  return [access === 'admin' ? forAdmins(subject) : forEveryone(subject)];
}

/** A family that every user and bot may manage. */
function forEveryone({ many, path, least, given }: Subject): Row {
  return {
    rule: `Users and bots may manage ${many}, too`,
    given: { ...given, made: post(path, least, { as: 'bot' }) },
    ask: get(`${path}/{made.id}`, { as: 'user' }),
    answer: ok({ id: '{made.id}' }),
  };
}

/** A family for admins alone. */
function forAdmins({ many, path, least, given }: Subject): Row {
  return {
    rule: `Only admins may see and manage ${many}`,
    given: { ...given, made: post(path, least) },
    ask: get(path, { as: 'user' }),
    answer: refused('PERMISSION_DENIED'),
    later: [
      [post(path, least, { as: 'bot' }), refused('PERMISSION_DENIED')],
      [get(`${path}/{made.id}`, { as: 'bot' }), refused('PERMISSION_DENIED')],
      [post(path, least), created({})],
    ],
  };
}

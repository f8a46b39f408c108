/** The rows about whom a family is for. */
import { created, get, ok, post, type Row, refused, type Step } from './row.ts';

interface Family {
  /** As in a sentence: `certificate authorities`. */
  readonly many: string;
  readonly path: string;
  readonly least: Readonly<Record<string, unknown>>;
  readonly given?: Readonly<Record<string, Step>>;
}

/** A family that every user and bot may manage. */
export function forEveryone({ many, path, least, given = {} }: Family): Row {
  return {
    rule: `Users and bots may manage ${many}, too`,
    given: { ...given, made: post(path, least, { as: 'bot' }) },
    ask: get(`${path}/{made.id}`, { as: 'user' }),
    answer: ok({ id: '{made.id}' }),
  };
}

/** A family for admins alone. */
export function forAdmins({ many, path, least, given = {} }: Family): Row {
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

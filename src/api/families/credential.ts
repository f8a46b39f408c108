/** Tunnel credentials, and the data plane's check whether a token may bind a target. */
import { z } from 'zod';
import { authenticate, authentication, credential } from '../../resources/credential.ts';
import { decide, parseTarget } from '../../resources/formats/acl.ts';
import { belongingTo } from '../crud/family.ts';
import { mount } from '../crud/mount.ts';
import { operation } from '../http/operation.ts';
import { AUTHTOKEN_PREFIX, tokenHash } from '../secrets/tokens.ts';
import type { Executor } from '../store/database.ts';
import { tokenHooks } from './one-time-token.ts';

type Decision = z.output<typeof authentication>;

export const credentials = mount(credential, tokenHooks(credential, AUTHTOKEN_PREFIX));

credentials.add(
  operation({
    method: 'POST',
    path: `${credential.path}/authenticate`,
    operationId: 'authenticateCredential',
    summary: 'Check whether an authtoken may bind a target',
    description:
      'For the data plane: checks the token that a tunnel agent presents, and what it asks to bind. Stores nothing. For an admin of the first account, the token may be of any account.',
    ...belongingTo(credential),
    access: 'admin',
    params: {},
    body: authenticate,
    success: { status: 200, description: 'Whether the token may bind the target.', schema: authentication },
    handle: async ({ caller: { account, isPlatformAdmin, isVisiting }, body }, { db }) => ({
      body:
        isPlatformAdmin && !isVisiting
          ? await decideBind(db.acrossAccounts(), body)
          : await decideBind(db, body, account),
    }),
  }),
);

const FIND = `
  select c.id, c.owner_id, c.acl
    from credentials c
    left join users u on u.id = c.owner_user_id
    left join bot_users b on b.id = c.owner_bot_id
   where c.token_hash = $1 and coalesce(u.active, b.active) and coalesce(c.account_id = $2, true)`;

const row = z.object({ id: z.string(), owner_id: z.string(), acl: z.array(z.string()) });

/** @param account whose tokens count; default: all */
async function decideBind(
  db: Executor,
  { token, bind }: z.output<typeof authenticate>,
  account?: string,
): Promise<Decision> {
  const [found] = await db.query({
    name: 'credentials.authenticate',
    text: FIND,
    values: [tokenHash(token), account ?? null],
  });
  if (!found) return { allowed: false, credential_id: null, owner_id: null, matched_rule: null };
  const { id, owner_id, acl } = row.parse(found);
  const target = bind == null ? undefined : parseTarget(bind);
  const decision =
    target && 'value' in target ? decide(acl, target.value) : { allowed: target === undefined, matchedRule: null };
  return { allowed: decision.allowed, credential_id: id, owner_id, matched_rule: decision.matchedRule };
}

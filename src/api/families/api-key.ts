/** API keys: their tokens and owners. A key cannot outlive the key that created it, and one key of an admin remains. */
import { apiKey } from '../../resources/api-key.ts';
import { showSecond } from '../../resources/formats/text.ts';
import { includes, scopeProblem } from '../../resources/scopes.ts';
import type { WriteContext } from '../crud/hooks.ts';
import { mount } from '../crud/mount.ts';
import { conflict, invalidByRule, refused, unauthenticated } from '../errors/errors.ts';
import type { Caller } from '../http/authentication.ts';
import { API_KEY_PREFIX, tokenPrefix } from '../secrets/tokens.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import { endsLastAdminKey } from './admin-keys.ts';
import { tokenHooks } from './one-time-token.ts';

const hooks = tokenHooks(apiKey, API_KEY_PREFIX);

export const apiKeys = mount(apiKey, {
  ...hooks,
  aboutCreate: 'The new key can neither outlive the key that creates it nor have wider scopes.',
  aboutDelete: 'Its token stops working at once. Fails with 409 for the last working key of an admin.',
  draft(caller, input) {
    checkScopes(caller, input.scopes ?? null);
    const { fields, token, ...draft } = hooks.draft(caller, input);
    return { ...draft, token, fields: { ...fields, token_prefix: tokenPrefix(token) } };
  },
  // Locks both keys in one order, since two keys may update each other. refuseOutliving needs the caller's key.
  async lockFirst({ tx, caller }, id) {
    const text = `select 1 from api_keys where id = any($1) and ${ofThisAccount()} order by id for update`;
    await tx.query({ name: 'api_keys.lock_two', text, values: [[id, caller.keyId]] });
  },
  beforeCreate: (context, { expires_at }) => refuseOutliving(context, expires_at),
  async beforeUpdate(context, before, after) {
    const [was, is] = [timeOf(before.expires_at), timeOf(after.expires_at)];
    if (is > was) await refuseOutliving(context, after.expires_at);
    if (is < was) await refuseIfLast(context, before.id, after.expires_at);
  },
  beforeDelete: (context, { id }) => refuseIfLast(context, id),
});

function checkScopes({ scopes: own }: Pick<Caller, 'scopes'>, wanted: readonly string[] | null): void {
  const wider = (scope: string) => (own === null || includes(own, scope) ? undefined : beyond(own));
  if (wanted === null && own !== null) throw invalidByRule({ '/scopes': `is required: ${beyond(own).reason}` });
  const problems = (wanted ?? []).map((scope, at) => [`/scopes/${at}`, scopeProblem(scope) ?? wider(scope)] as const);
  const found = problems.flatMap(([name, problem]) => (problem ? [[name, problem] as const] : []));
  if (found.length > 0) throw refused(Object.fromEntries(found));
}

const beyond = (own: readonly string[]) => ({
  reason: `must not exceed the scopes of the API key in use: ${own.join(', ')}`,
});

/** @param end default: at once */
async function refuseIfLast({ tx, caller }: WriteContext, id: string, end: End = null): Promise<undefined> {
  // A platform admin can let others into the account again.
  if (caller.isVisiting) return;
  if (await endsLastAdminKey(tx, id, end ?? undefined))
    throw conflict(`API key ${id} is the last working key of an admin; create another one first.`, { id });
}

type End = string | null;

const timeOf = (end: End) => (end === null ? Number.POSITIVE_INFINITY : Date.parse(end));

/**
 * A leaked key must not be able to extend its own access. Reads the expiry of the caller's key again, in case it was
 * moved forward after authentication, and locks it until this write is committed.
 */
async function refuseOutliving({ tx, caller }: WriteContext, end: End): Promise<void> {
  const text = 'select expires_at from api_keys where id = $1 for share';
  const statement = { name: 'api_keys.end', text, values: [caller.keyId] };
  // The key of a visitor is of another account. It is taken as it was at authentication.
  const [own] = caller.isVisiting ? [{ expires_at: caller.keyExpiresAt }] : await tx.query(statement);
  if (!own) throw unauthenticated('The API key is unknown.');
  if (own.expires_at === null || timeOf(end) <= timeOf(String(own.expires_at))) return;
  throw invalidByRule({
    '/expires_at': `must be at most ${showSecond(own.expires_at)}, when the API key in use expires`,
  });
}

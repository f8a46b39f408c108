/** The caller: a user or a bot, identified by the SHA-256 of their API key. */
import { z } from 'zod';
import { FIRST_ACCOUNT } from '../../resources/account.ts';
import { unauthenticated } from '../errors/errors.ts';
import { tokenHash } from '../secrets/tokens.ts';
import type { Executor } from '../store/database.ts';
import { IS_DUE, type LastUse } from './last-use.ts';

export interface Caller {
  /** Id of the user or bot; owns what the call creates. */
  id: string;
  admin: boolean;
  /** May change nothing, and sees no secrets. */
  isViewer: boolean;
  /** Those of the API key in use; null if it may do all that its owner may. */
  scopes: readonly string[] | null;
  /** Id of the API key in use. */
  keyId: string;
  keyExpiresAt: string | null;
  /** The secret of the key in use; seals one-time tokens (see idempotency.ts). Never stored, never logged. */
  secret: string;
  /** Id of the account that the call is made in: that of the key, unless a platform admin has chosen another one. */
  account: string;
  /** How many requests all keys of the account that the key belongs to may make together; null: no limit. */
  requestsPerSecond: number | null;
  /** The caller in this account, to whom idempotency keys belong. */
  principal: string;
  /** An admin of the first account. */
  isPlatformAdmin: boolean;
  /** Whether the account is another one than that of the key. */
  isVisiting: boolean;
  /** Id of the installation, as the database has it. */
  installation: string;
}

const AUTHENTICATE = `
  select k.id, k.owner_id, k.account_id, coalesce(u.admin, false) as admin, coalesce(u.active, b.active) as active,
         coalesce(u.role, b.role) is not distinct from 'viewer' as is_viewer, k.scopes,
         k.expires_at, k.expires_at <= now() as expired, ${IS_DUE} as use_due,
         (select id from installation) as installation,
         a.requests_per_second, a.deletion is not null as account_goes
    from api_keys k
    left join accounts a on a.id = k.account_id
    left join users u on u.id = k.owner_user_id
    left join bot_users b on b.id = k.owner_bot_id
   where k.token_hash = $1`;

const row = z.object({
  id: z.string(),
  owner_id: z.string(),
  account_id: z.string(),
  admin: z.boolean(),
  active: z.boolean(),
  is_viewer: z.boolean(),
  scopes: z.array(z.string()).nullable(),
  expires_at: z.string().nullable(),
  expired: z.boolean().nullable(),
  use_due: z.boolean(),
  installation: z.string(),
  requests_per_second: z.number().nullable(),
  account_goes: z.boolean(),
});

/** The credentials of a request, before they are looked up. */
export interface Credentials {
  /** Distinguishes keys without revealing them; undefined if there is none. */
  fingerprint: string | undefined;
  /**
   * One query and no cache: a key stops working as soon as it is deleted or expires, or its owner becomes inactive.
   * @param use is told if the use of the key has to be recorded
   * @throws UNAUTHENTICATED
   */
  caller(db: Executor, use?: LastUse): Promise<Caller>;
}

/** Reads an Authorization header. */
export function credentialsOf(header: string | undefined): Credentials {
  const secret = header === undefined ? undefined : BEARER.exec(header)?.[1];
  if (secret === undefined) {
    const problem = header === undefined ? MISSING : MALFORMED;
    return { fingerprint: undefined, caller: () => Promise.reject(unauthenticated(problem)) };
  }
  const hash = tokenHash(secret);
  return { fingerprint: hash, caller: (db, use) => authenticate(db, { secret, hash }, use) };
}

const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;
const MISSING = 'An API key is required: "Authorization: Bearer <key>".';
const MALFORMED = 'The Authorization header must have the form "Bearer <key>".';

type Key = Readonly<Record<'secret' | 'hash', string>>;

async function authenticate(db: Executor, { secret, hash }: Key, use: LastUse | undefined): Promise<Caller> {
  const [found] = await db.query({ name: 'authenticate', text: AUTHENTICATE, values: [hash] });
  if (!found) throw unauthenticated('The API key is unknown.');
  const {
    id: keyId,
    owner_id,
    account_id: account,
    admin,
    active,
    is_viewer: isViewer,
    scopes,
    expired,
    expires_at,
    use_due,
    installation,
    requests_per_second: requestsPerSecond,
    account_goes,
  } = row.parse(found);
  if (expired === true) throw unauthenticated('The API key has expired.');
  if (!active) throw unauthenticated('The owner of the API key is inactive.');
  if (account_goes) throw unauthenticated('The account of the API key is being deleted.');
  if (use_due) use?.note(keyId);
  const isPlatformAdmin = admin && account === FIRST_ACCOUNT;
  return {
    ...{ id: owner_id, principal: owner_id, account, requestsPerSecond, isVisiting: false },
    ...{ admin, isViewer, scopes, isPlatformAdmin, keyId, keyExpiresAt: expires_at, secret, installation },
  };
}

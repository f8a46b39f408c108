/** `APIKey`: a bearer token for the management API, stored in a Secret and rotated there. */
import { z } from 'zod';
import type { Client } from '../../client/client.ts';
import { apiKey } from '../../resources/api-key.ts';
import type { View } from '../../resources/definition/resource.ts';
import { REASON } from '../contract/reasons.ts';
import { Blocked, type External, type Finding } from '../managed/declaration/external.ts';
import { handout } from '../managed/declaration/handout.ts';
import { type RotationSpec, rotationTime } from '../managed/secrets/rotation.ts';
import { oneTime } from './one-time.ts';
import { explainingOwner, isOwnedByBot, owned } from './owner.ts';
import { plainKind } from './plain-kind.ts';

const token = oneTime(
  handout(apiKey, { type: 'apiKey', what: 'token', key: 'token', member: 'token', isOneTime: true }),
);
const owner = owned('key');

type Key = View<typeof apiKey>;

/** False for a key that expires before it would be rotated. */
function isRotated(spec: RotationSpec, { created_at, expires_at }: Pick<Key, 'created_at' | 'expires_at'>): boolean {
  const at = rotationTime(spec, created_at);
  return at === undefined || expires_at === null || at < new Date(expires_at);
}

const neverRotated = ({ rotation }: RotationSpec, what: string, expiresAt: string | null) =>
  `spec.rotation.interval: ${what} expires at ${expiresAt}, before it is ${rotation?.interval} old and would be rotated: shorten the interval, or set spec.expiresAt to a later time`;

const end = z.object({ expiresAt: z.string().nullish() });

/** Refuses a first key that would never be rotated before its token is handed out. */
function createdToRotate<Spec extends RotationSpec>(
  plain: External<Spec, Key>,
  client: Pick<Client, 'now'>,
): External<Spec, Key> {
  return {
    ...plain,
    async create(spec, options) {
      const expires_at = end.parse(spec).expiresAt ?? null;
      const isFirst = (options.idempotencyPlace?.sequence ?? 1) === 1;
      const isEarly = expires_at !== null && !isRotated(spec, { created_at: client.now().toISOString(), expires_at });
      if (isFirst && isEarly) {
        throw new Blocked(REASON.rejected, neverRotated(spec, 'the key', expires_at));
      }
      return plain.create(spec, options);
    },
  };
}

export const apiKeyKind = plainKind(apiKey, {
  kind: 'APIKey',
  shortNames: ['tkey'],
  description: 'A bearer token for the management API. It is kept in a Secret.',
  calls: (client) => client.apiKeys,
  about: {
    owner_id: 'Id of the bot that owns the key, or of a user if the operator runs with --allow-user-api-keys.',
  },
  spec: { ...owner.spec, ...token.spec },
  rules: owner.rules,
  expand: owner.expand,
  status: { ...token.status, ...owner.status },
  columns: [...token.columns, 'expires_at', owner.column],
  describe: (declared, observed: Key, object) => ({
    ...token.describe(declared, observed, object),
    ...(isRotated(declared, observed) ? {} : { rotatesAt: undefined }),
    ownerId: observed.owner_id,
  }),
  end: { of: (key: Key) => key.expires_at, remedy: 'set spec.expiresAt to a later time, or remove it' },
  // The last of several keys may well be too young for a rotation when it expires.
  unfit: (spec, key: Key, isFirst): Finding | undefined =>
    isFirst && !isRotated(spec, key)
      ? { status: 'False', reason: REASON.rejected, message: neverRotated(spec, key.id, key.expires_at) }
      : undefined,
  external: (plain, client) => explainingOwner(createdToRotate(plain, client)),
  handsOutUserRights: (spec) => !isOwnedByBot(spec),
  delivery: token.delivery,
});

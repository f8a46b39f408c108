/** `APIKey`: a bearer token for the management API, stored in a Secret and rotated there. */
import { apiKey } from '../../resources/api-key.ts';
import type { View } from '../../resources/definition/resource.ts';
import { REASON } from '../contract/reasons.ts';
import type { Finding } from '../managed/declaration/external.ts';
import { handout } from '../managed/declaration/handout.ts';
import { type RotationSpec, rotationTime } from '../managed/secrets/rotation.ts';
import { oneTime } from './one-time.ts';
import { isOwnedByBot, owned } from './owner.ts';
import { plainKind } from './plain-kind.ts';

const token = oneTime(
  handout(apiKey, { type: 'apiKey', what: 'token', key: 'token', member: 'token', isOneTime: true }),
);
const owner = owned('key');

type Key = View<typeof apiKey>;

/** False for a key that expires before it would be rotated. */
function isRotated(spec: RotationSpec, { created_at, expires_at }: Key): boolean {
  const at = rotationTime(spec, created_at);
  return at === undefined || expires_at === null || at < new Date(expires_at);
}

function neverRotated({ rotation }: RotationSpec, { id, expires_at }: Key): Finding {
  const message = `spec.rotation.interval: ${id} expires at ${expires_at}, before it is ${rotation?.interval} old and would be rotated: shorten the interval, or set spec.expiresAt to a later time`;
  return { status: 'False', reason: REASON.rejected, message };
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
  unfit: (spec, key: Key, isFirst) => (isFirst && !isRotated(spec, key) ? neverRotated(spec, key) : undefined),
  handsOutUserRights: (spec) => !isOwnedByBot(spec),
  delivery: token.delivery,
});

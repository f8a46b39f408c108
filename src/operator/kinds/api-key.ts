/** `APIKey`: a bearer token for the management API, stored in a Secret and rotated there. */
import { apiKey } from '../../resources/api-key.ts';
import type { View } from '../../resources/definition/resource.ts';
import { handout } from '../managed/declaration/handout.ts';
import { oneTime } from './one-time.ts';
import { isOwnedByBot, owned } from './owner.ts';
import { plainKind } from './plain-kind.ts';

const token = oneTime(
  handout(apiKey, { type: 'apiKey', what: 'token', key: 'token', member: 'token', isOneTime: true }),
);
const owner = owned('key');

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
  describe: (declared, observed: View<typeof apiKey>, object) => ({
    ...token.describe(declared, observed, object),
    ownerId: observed.owner_id,
  }),
  end: { of: (key: View<typeof apiKey>) => key.expires_at, remedy: 'set spec.expiresAt to a later time, or remove it' },
  handsOutUserRights: (spec) => !isOwnedByBot(spec),
  delivery: token.delivery,
});

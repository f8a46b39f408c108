/** `TunnelCredential`: an authtoken for tunnel agents, stored in a Secret and rotated there. */
import { credential } from '../../resources/credential.ts';
import type { View } from '../../resources/definition/resource.ts';
import { handout } from '../managed/declaration/handout.ts';
import { oneTime } from './one-time.ts';
import { explainingOwner, owned } from './owner.ts';
import { plainKind } from './plain-kind.ts';

const token = oneTime(
  handout(credential, { type: 'authtoken', what: 'token', key: 'token', member: 'token', isOneTime: true }),
);
const owner = owned('credential');

export const tunnelCredentialKind = plainKind(credential, {
  kind: 'TunnelCredential',
  shortNames: ['tcred'],
  description: 'An authtoken that tunnel agents authenticate with. It is kept in a Secret.',
  calls: (client) => client.credentials,
  about: { owner_id: owner.about },
  spec: { ...owner.spec, ...token.spec },
  rules: owner.rules,
  expand: owner.expand,
  status: { ...token.status, ...owner.status },
  columns: [...token.columns, owner.column],
  describe: (declared, observed: View<typeof credential>, object) => ({
    ...token.describe(declared, observed, object),
    ownerId: observed.owner_id,
  }),
  external: explainingOwner,
  delivery: token.delivery,
});

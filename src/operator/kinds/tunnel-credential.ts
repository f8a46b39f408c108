/** `TunnelCredential`: an authtoken for tunnel agents, stored in a Secret and rotated there. */
import { z } from 'zod';
import { credential } from '../../resources/credential.ts';
import type { View } from '../../resources/definition/resource.ts';
import { handout } from '../managed/secrets/handout.ts';
import { oneTime } from './one-time.ts';
import { plainKind } from './plain-kind.ts';

const token = handout(credential, {
  type: 'authtoken',
  what: 'token',
  key: 'token',
  member: 'token',
  isOneTime: true,
});
const { spec, status, columns, describe, delivery } = oneTime(token);

export const tunnelCredentialKind = plainKind(credential, {
  kind: 'TunnelCredential',
  shortNames: ['tcred'],
  description: 'An authtoken that tunnel agents authenticate with, kept in a Secret.',
  calls: (client) => client.credentials,
  about: {
    owner_id: "Id of the user or bot that owns the credential. Defaults to the owner of the operator's API key.",
  },
  spec,
  status: {
    ...status,
    ownerId: z.string().optional().meta({ description: 'Id of the user or bot that owns the credential.' }),
  },
  columns: [
    ...columns,
    { name: 'Owner', type: 'string', jsonPath: '.status.ownerId', description: 'Owner of the token.', priority: 1 },
  ],
  describe: (declared, observed: View<typeof credential>, object) => ({
    ...describe(declared, observed, object),
    ownerId: observed.owner_id,
  }),
  delivery,
});

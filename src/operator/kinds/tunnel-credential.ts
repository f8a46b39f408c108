/** `TunnelCredential`: an authtoken for tunnel agents, stored in a Secret and rotated there. */
import { z } from 'zod';
import { credential } from '../../resources/credential.ts';
import type { View } from '../../resources/definition/resource.ts';
import { ANNOTATION } from '../contract/names.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import type { SpecOf } from '../managed/kind.ts';
import { rotationTime } from '../managed/rotation.ts';
import { secretNameOf } from '../managed/secrets/content.ts';
import { tokenSecret } from '../managed/secrets/token-secret.ts';
import { plainKind } from './plain-kind.ts';
import { rotation, secret } from './secret-spec.ts';

type Credential = View<typeof credential>;

const spec = { secret, rotation };

const SECRET = 'The Secret that holds the token.';

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
    secretName: z.string().optional().meta({ description: SECRET }),
    ownerId: z.string().optional().meta({ description: 'Id of the user or bot that owns the credential.' }),
    issuedAt: z.string().optional().meta({ description: 'When the current token was issued.' }),
    rotatesAt: z.string().optional().meta({ description: 'When the token will be replaced.' }),
  },
  columns: [
    { name: 'Secret', type: 'string', jsonPath: '.status.secretName', description: SECRET },
    { name: 'Rotates', type: 'string', jsonPath: '.status.rotatesAt', description: 'Next rotation.', priority: 1 },
    { name: 'Owner', type: 'string', jsonPath: '.status.ownerId', description: 'Owner of the token.', priority: 1 },
  ],
  describe,
  delivery: tokenSecret,
});

function describe(declared: SpecOf<typeof spec>, observed: Credential, object: KubeObject): Record<string, unknown> {
  const isManaged = declared.managementPolicy === 'Manage' && annotation(object, ANNOTATION.externalId) === observed.id;
  return {
    secretName: isManaged ? secretNameOf(object, declared) : undefined,
    ownerId: observed.owner_id,
    issuedAt: observed.created_at,
    rotatesAt: isManaged ? rotationTime(declared, observed.created_at)?.toISOString() : undefined,
  };
}

/** Tunnel credentials: authtokens for tunnel agents, and the bind rules that restrict them. */
import { z } from 'zod';
import { botUser } from './bot-user.ts';
import { idOf } from './definition/id.ts';
import { orNone } from './definition/none.ts';
import { derived, described, field, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { acl, bindTarget } from './formats/acl.ts';
import { text } from './formats/text.ts';
import { user } from './user.ts';

/** A user or a bot. */
const ownerId = idOf(user.prefix, botUser.prefix);

/** The owner of a token; defaults to the caller if left out or null. */
export const owner = {
  ...field(
    ownerId.meta({ description: 'The user or bot that owns it.' }),
    orNone(ownerId.meta({ description: 'A user or bot. Defaults to the caller; only admins may name another owner.' })),
    'optional',
    false,
    null,
  ),
  chosen: true,
} as const;

export const credential = resource({
  name: 'credential',
  title: 'Credential',
  prefix: 'cr',
  path: '/credentials',
  collection: 'credentials',
  tag: 'Tunnel credentials',
  access: 'owner',
  description: 'An authtoken that a tunnel agent authenticates with. It is shown only in the creation response.',
  fields: {
    ...described('Who or what uses the credential.'),
    token: derived(
      z
        .string()
        .nullable()
        .meta({ description: 'Shown only in the creation response; null afterwards.', examples: ['tnl_cr_…'] }),
      'none',
    ),
    acl: field(z.array(z.string()).meta({ examples: [['bind:*.example.com']] }), z.nullable(acl), 'optional', true, []),
    owner_id: owner,
  },
  samples: {
    least: {},
    full: { ...DESCRIBED, acl: ['bind:*.example.com', 'bind:tunnel-{n}.example.org'], owner_id: '{bot_user.id}' },
    change: { ...CHANGED, acl: ['bind:changed.example.com'] },
  },
});

/** Body of `POST /credentials/authenticate`. */
export const authenticate = z
  .strictObject({
    token: text().max(512),
    bind: bindTarget.nullish().meta({ description: 'What the agent asks to bind.', examples: ['app.example.com'] }),
  })
  .meta({ id: 'CredentialAuthenticate' });

/** Its response. For an unknown token, or one of an inactive owner, `allowed` is false and the other members are null. */
export const authentication = z
  .object({
    allowed: z.boolean(),
    credential_id: idOf('cr').nullable(),
    owner_id: ownerId.nullable(),
    matched_rule: z
      .string()
      .nullable()
      .meta({ description: 'The rule that allowed it; null if the ACL is empty or no bind target was given.' }),
  })
  .meta({ id: 'CredentialAuthentication' });

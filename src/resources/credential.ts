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
    ownerId.meta({ description: 'Id of the user or bot that owns the token.' }),
    orNone(
      ownerId.meta({
        description:
          'Id of the user or bot that owns the token. Defaults to the caller. Only admins may name another owner.',
      }),
    ),
    'optional',
    false,
    null,
  ),
  chosen: true,
  filterable: 'value',
} as const;

export const credential = resource({
  name: 'credential',
  title: 'Credential',
  prefix: 'cr',
  path: '/credentials',
  collection: 'credentials',
  tag: 'Tunnel credentials',
  access: 'owner',
  description: 'An authtoken that a tunnel agent authenticates with. Only the creation response shows it.',
  fields: {
    ...described('Who or what uses the credential.'),
    token: derived(
      z
        .string()
        .nullable()
        .meta({
          description: 'The authtoken. Only the creation response shows it; afterwards it is null.',
          examples: ['tnl_cr_…'],
        }),
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
    token: text().max(512).meta({ description: 'The authtoken that the agent has presented.' }),
    bind: bindTarget.nullish().meta({
      description: 'What the agent asks to bind. Without it, only the token is checked.',
      examples: ['app.example.com'],
    }),
  })
  .meta({ id: 'CredentialAuthenticate' });

/** Its response. A token is invalid if it is unknown or its owner is inactive. */
export const authentication = z
  .object({
    allowed: z.boolean().meta({ description: 'Whether the token is valid and may bind the target.' }),
    credential_id: idOf('cr').nullable().meta({ description: 'Id of the credential; null if the token is not valid.' }),
    owner_id: ownerId
      .nullable()
      .meta({ description: 'Id of the user or bot that owns the credential; null if the token is not valid.' }),
    matched_rule: z.string().nullable().meta({
      description: 'The ACL rule that allows the target. Null if none does, the ACL is empty, or no target was given.',
    }),
  })
  .meta({ id: 'CredentialAuthentication' });

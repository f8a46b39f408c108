/** API keys (extension): bearer tokens for this API, each owned by a user or a bot. */
import { z } from 'zod';
import { owner } from './credential.ts';
import { orNone } from './definition/none.ts';
import { derived, described, field, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { distinct } from './formats/distinct.ts';
import { second, shownSecond, showSecond, text } from './formats/text.ts';

const EXPIRES = { description: 'When the key stops working. Without it, the key never expires.' };

/** Checks only the form; the API checks that the family exists (scopes.ts). */
const scope = text()
  .regex(
    /^(\*:read|[a-z_]{1,58}:(read|write))$/,
    'must be *:read, or a family with :read or :write, as in ip_policies:read',
  )
  .meta({ maxLength: 64 });
const MAX_SCOPES = 64;
const SCOPES = {
  description:
    'Restricts the key to these families: `*:read`, or the name of a family with `:read`, or with `:write`, which includes `:read`. Without any, the key may do all that its owner may.',
  examples: [['*:read'], ['ip_policies:write', 'reserved_domains:read']],
};

const LAST_USED = {
  description:
    'The hour in which the key was last used; null if it never was. Its use changes neither revision nor ETag.',
};

export const apiKey = resource({
  name: 'api_key',
  title: 'APIKey',
  prefix: 'ak',
  path: '/api_keys',
  collection: 'api_keys',
  tag: 'Users and keys',
  extension: true,
  access: 'owner',
  description: 'A bearer token for this API. The token is shown only in the creation response.',
  fields: {
    ...described('Who or what uses the key.'),
    token: derived(
      z
        .string()
        .nullable()
        .meta({
          description: 'The key itself. Only the creation response shows it; afterwards it is null.',
          examples: ['tnl_ak_…'],
        }),
      'none',
    ),
    token_prefix: derived(
      z
        .string()
        .nullable()
        .meta({
          description:
            'The first characters of the key, by which to recognise it. Null if an earlier release created it.',
          examples: ['tnl_ak_7hQ2'],
        }),
    ),
    owner_id: owner,
    scopes: field(
      z.array(z.string()).meta(SCOPES).optional(),
      z.nullable(
        distinct(z.array(scope).max(MAX_SCOPES, `must have at most ${MAX_SCOPES}`))
          .transform((scopes) => (scopes.length === 0 ? null : scopes))
          .meta(SCOPES),
      ),
      'optional',
      false,
      null,
    ),
    expires_at: {
      ...field(shownSecond().nullable(), orNone(second().meta(EXPIRES)), 'optional', true, null),
      show: showSecond,
    },
    last_used_at: {
      ...derived(shownSecond().nullable().meta(LAST_USED)),
      show: showSecond,
      movesByItself: true,
    },
  },
  samples: {
    least: {},
    full: { ...DESCRIBED, owner_id: '{bot_user.id}', scopes: ['*:read'], expires_at: '2099-01-01T00:00:00Z' },
    change: { ...CHANGED, expires_at: '2098-01-01T00:00:00Z' },
  },
});

/** Users (extension): people who own API keys and credentials. */
import { z } from 'zod';
import { field, required, resource } from './definition/resource.ts';
import { bytes } from './formats/text.ts';

export const user = resource({
  name: 'user',
  title: 'User',
  prefix: 'usr',
  path: '/users',
  collection: 'users',
  tag: 'Users and keys',
  extension: true,
  access: 'admin',
  description: 'A person. Admins may do everything; other users may not manage users, bots or what others own.',
  fields: {
    name: required(
      bytes(255)
        .min(1, 'must not be empty')
        .meta({ description: 'Human-readable name.', examples: ['Ada'] }),
    ),
    admin: field(z.boolean(), z.boolean(), 'optional', true, false),
    active: field(z.boolean(), z.boolean(), 'optional', true, true),
  },
  samples: {
    least: { name: 'user {n}' },
    full: { name: 'user {n}', admin: false, active: true },
    change: { name: 'Ada Lovelace' },
  },
});

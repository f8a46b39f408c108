/** Users (extension): people who own API keys and credentials. */
import { z } from 'zod';
import { field, personName, resource } from './definition/resource.ts';
import { bytes } from './formats/text.ts';
import { checkRole, userRole } from './role.ts';

const admin = z.boolean().meta({ description: 'Whether the user is an admin.' });
const active = z.boolean().meta({ description: 'If false, the API keys and authtokens of the user do not work.' });

export const user = resource({
  name: 'user',
  title: 'User',
  prefix: 'usr',
  path: '/users',
  collection: 'users',
  tag: 'Users and keys',
  extension: true,
  access: 'admin',
  description: 'A person. Only admins may manage users, bots, event subscriptions and what others own.',
  fields: {
    name: personName(bytes(255).meta({ description: 'Name of the user, for people.', examples: ['Ada'] })),
    admin: field(z.boolean(), admin, 'optional', true, false),
    role: userRole,
    active: field(z.boolean(), active, 'optional', true, true),
  },
  check: checkRole,
  samples: {
    least: { name: 'user {n}' },
    full: { name: 'user {n}', admin: false, role: 'viewer', active: true },
    change: { name: 'Ada Lovelace' },
  },
});

/** Bot users: identities of programs. While a bot is inactive, its API keys and authtokens do not work. */
import { z } from 'zod';
import { field, required, resource } from './definition/resource.ts';
import { bytes } from './formats/text.ts';

export const botUser = resource({
  name: 'bot_user',
  title: 'BotUser',
  prefix: 'bot',
  path: '/bot_users',
  collection: 'bot_users',
  tag: 'Users and keys',
  access: 'admin',
  description: 'The identity of a program. It is never an admin.',
  fields: {
    name: required(
      bytes(255)
        .min(1, 'must not be empty')
        .meta({ description: 'Human-readable name.', examples: ['deploy bot'] }),
    ),
    active: field(z.boolean(), z.boolean(), 'optional', true, true),
  },
  samples: {
    least: { name: 'bot {n}' },
    full: { name: 'bot {n}', active: true },
    change: { name: 'renamed', active: false },
  },
});

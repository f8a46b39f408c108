/** Bot users: identities of programs. While a bot is inactive, its API keys and authtokens do not work. */
import { z } from 'zod';
import { field, personName, resource } from './definition/resource.ts';
import { bytes } from './formats/text.ts';
import { botRole } from './role.ts';

const active = z.boolean().meta({ description: 'If false, the API keys and authtokens of the bot do not work.' });

export const botUser = resource({
  name: 'bot_user',
  title: 'BotUser',
  prefix: 'bot',
  path: '/bot_users',
  collection: 'bot_users',
  tag: 'Users and keys',
  access: 'admin',
  description: 'An identity for a program. A bot is never an admin.',
  fields: {
    name: personName(bytes(255).meta({ description: 'Name of the bot, for people.', examples: ['deploy bot'] })),
    role: botRole,
    active: field(z.boolean(), active, 'optional', true, true),
  },
  samples: {
    least: { name: 'bot {n}' },
    full: { name: 'bot {n}', role: 'viewer', active: true },
    change: { name: 'renamed', active: false },
  },
});

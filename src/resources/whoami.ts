/** Response of `GET /whoami` (extension): the caller, and the API key in use. */
import { z } from 'zod';
import { apiKey } from './api-key.ts';
import { botUser } from './bot-user.ts';
import { idOf } from './definition/id.ts';
import { user } from './user.ts';

export const whoami = z
  .object({
    uri: z.url().meta({ description: 'Address of this response.' }),
    owner: z
      .object({
        id: idOf(user.prefix, botUser.prefix).meta({ description: 'Id of the user or bot.' }),
        uri: z.url().meta({ description: 'Address of the user or bot.' }),
        type: z.enum([user.name, botUser.name]).meta({ description: 'Whether it is a user or a bot.' }),
        name: user.view.shape.name.meta({ description: 'Name of the user or bot.' }),
        role: user.view.shape.role,
      })
      .meta({ description: 'The user or bot that owns the API key in use.' }),
    installation_id: z.uuid().meta({
      examples: ['5f1c7a52-3d0e-4b8e-9c55-0d6f2f3a9b71'],
      description:
        'Identifies the installation, also in the header `Installation-Id` of each response. Another id means another database, in which other resources exist.',
    }),
    admin: z.boolean().meta({ description: 'Whether the owner is an admin.' }),
    api_key: apiKey.view
      .pick({ id: true, uri: true, scopes: true, expires_at: true })
      .meta({ description: 'The API key in use.' }),
  })
  .meta({ id: 'Whoami', description: 'The caller, and the API key in use.' });

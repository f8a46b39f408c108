/** Who calls, and with which key, as `GET /whoami` (extension) says it. */
import { z } from 'zod';
import { apiKey } from './api-key.ts';
import { botUser } from './bot-user.ts';
import { idOf } from './definition/id.ts';
import { user } from './user.ts';

export const whoami = z
  .object({
    uri: z.url(),
    owner: z
      .object({
        id: idOf(user.prefix, botUser.prefix),
        uri: z.url(),
        type: z.enum([user.name, botUser.name]),
        name: user.view.shape.name,
      })
      .meta({ description: 'The user or bot that owns the API key in use.' }),
    admin: z.boolean().meta({ description: 'Whether the owner is an admin.' }),
    api_key: apiKey.view
      .pick({ id: true, uri: true, expires_at: true })
      .meta({ description: 'The API key in use, and when it expires; null: never.' }),
  })
  .meta({ id: 'Whoami', description: 'The caller of this request.' });

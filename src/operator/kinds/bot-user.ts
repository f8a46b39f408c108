/** `BotUser`: an identity for a program, which can own API keys and credentials. Needs an admin's API key. */
import { botUser } from '../../resources/bot-user.ts';
import { plainKind } from './plain-kind.ts';

export const botUserKind = plainKind(botUser, {
  kind: 'BotUser',
  shortNames: ['bot'],
  calls: (client) => client.botUsers,
  columns: ['active'],
});

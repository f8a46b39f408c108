/** `BotUser`: the identity of a program, which may own API keys and credentials. Needs an admin's API key. */
import { botUser } from '../../resources/bot-user.ts';
import { plainKind } from './plain-kind.ts';

export const botUserKind = plainKind(botUser, {
  kind: 'BotUser',
  shortNames: ['bot'],
  calls: (client) => client.botUsers,
  about: { active: 'If false, its API keys and the tokens of its credentials do not work.' },
  columns: ['active'],
});

/** `BotUser`: the identity of a program, which API keys and credentials may belong to. Needs an admin's API key. */
import { botUser } from '../../resources/bot-user.ts';
import { plainKind } from './plain-kind.ts';

export const botUserKind = plainKind(botUser, {
  kind: 'BotUser',
  shortNames: ['bot'],
  calls: (client) => client.botUsers,
  about: { active: 'While it is not, its API keys and the tokens of its credentials do not work.' },
  columns: ['active'],
});

/** Bots: they cannot be deleted while they own API keys or credentials. */
import { botUser } from '../../resources/bot-user.ts';
import { mount } from '../crud/mount.ts';
import { refuseIfOwning } from './owned-resources.ts';

export const botUsers = mount(botUser, {
  aboutDelete: 'Fails with 409 while the bot owns API keys or credentials.',
  async beforeDelete(context, { id }) {
    await refuseIfOwning(context, id);
    return undefined;
  },
});

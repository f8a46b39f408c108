/** Bots: they cannot be deleted while they own something. */
import { botUser } from '../../resources/bot-user.ts';
import { mount } from '../crud/mount.ts';
import { refuseIfOwning } from './owned-resources.ts';

export const botUsers = mount(botUser, {
  async beforeDelete({ tx }, { id }) {
    await refuseIfOwning(tx, id);
  },
});

/** Users: the last active admin whose API key works must remain one. */
import { agreed } from '../../resources/role.ts';
import { user } from '../../resources/user.ts';
import type { WriteContext } from '../crud/hooks.ts';
import { mount } from '../crud/mount.ts';
import { conflict } from '../errors/errors.ts';
import { LOCKS, lockUntilCommit } from '../store/locks.ts';
import { isLastAdmin } from './admin-keys.ts';
import { refuseIfOwning } from './owned-resources.ts';

export const users = mount(user, {
  aboutDelete:
    'Fails with 409 while the user owns API keys or credentials, and for the last active admin with a working API key.',
  lockFirst: ({ tx }) => lockUntilCommit(tx, LOCKS.users),
  derive: (after, before) => agreed(after, before),
  async beforeUpdate(context, before, after) {
    if (before.admin && before.active && !(after.admin && after.active)) await refuseIfLastAdmin(context, before.id);
  },
  async beforeDelete(context, { id, admin, active }) {
    if (admin && active) await refuseIfLastAdmin(context, id);
    await refuseIfOwning(context, id);
  },
});

async function refuseIfLastAdmin({ tx, caller }: WriteContext, id: string): Promise<void> {
  // A platform admin can let others into the account again.
  if (caller.isVisiting) return;
  if (await isLastAdmin(tx, id))
    throw conflict(`User ${id} is the last active admin with a working API key; give another admin one first.`, { id });
}

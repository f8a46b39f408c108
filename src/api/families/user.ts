/** Users: the last active admin stays one. */
import { user } from '../../resources/user.ts';
import type { Change } from '../crud/hooks.ts';
import { mount } from '../crud/mount.ts';
import { conflict } from '../errors/errors.ts';
import { refuseIfOwning } from './owned-resources.ts';

export const users = mount(user, {
  // Two admins who demote each other at the same moment must not both succeed.
  lockFirst: async ({ tx }) => void (await tx.query({ text: 'select pg_advisory_xact_lock($1)', values: [LOCK] })),
  async beforeUpdate(change, before, after) {
    if (before.admin && before.active && !(after.admin && after.active)) await refuseIfLastAdmin(change, before.id);
  },
  async beforeDelete(change, { id, admin, active }) {
    if (admin && active) await refuseIfLastAdmin(change, id);
    await refuseIfOwning(change.tx, id);
  },
});

/** Serialises changes of users. */
const LOCK = 7_211_004_327;

async function refuseIfLastAdmin({ tx }: Change, id: string): Promise<void> {
  const text = 'select 1 from users where admin and active and id <> $1 limit 1';
  const others = await tx.query({ text, values: [id] });
  if (others.length === 0) throw conflict('This is the last active admin; make another one first.', { id });
}

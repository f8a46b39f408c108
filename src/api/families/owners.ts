/** Users and bots: who may call the API, and own keys and credentials. */
import { apiKey } from '../../resources/api-key.ts';
import { botUser } from '../../resources/bot-user.ts';
import { credential } from '../../resources/credential.ts';
import { user } from '../../resources/user.ts';
import type { Change } from '../crud/hooks.ts';
import { mount } from '../crud/mount.ts';
import { conflict, resourceInUse } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import type { Api } from '../http/operation.ts';
import { repository } from '../store/repository.ts';

export function owners(api: Api): void {
  mount(api, botUser, { beforeDelete: ({ tx }, { id }) => refuseIfOwning(tx, id) });
  mount(api, user, {
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
}

/** Serialises changes of users. */
const LOCK = 7_211_004_327;

async function refuseIfLastAdmin({ tx }: Change, id: string): Promise<void> {
  const text = 'select 1 from users where admin and active and id <> $1 limit 1';
  const others = await tx.query({ text, values: [id] });
  if (others.length === 0) throw conflict('This is the last active admin; make another one first.', { id });
}

/** How many owned resources an error names. */
const NAMED = 5;

const OWNED = [credential, apiKey].map((family) => ({ collection: family.collection, rows: repository(family) }));

async function refuseIfOwning(tx: Change['tx'], owner: string): Promise<void> {
  const details: Record<string, string> = {};
  for (const { collection, rows } of OWNED) {
    const ids = (await rows.page(tx, { limit: NAMED + 1, only: { owner_id: owner } })).map(({ id }) => id);
    if (ids.length > NAMED) ids.splice(NAMED, 1, '…');
    if (ids.length > 0) details[collection] = ids.join(', ');
  }
  const owned = Object.keys(details).map(words);
  if (owned.length > 0) throw resourceInUse(`It still owns ${owned.join(' and ')}; delete those first.`, details);
}

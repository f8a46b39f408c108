/** API keys and credentials block the deletion of the user or bot that owns them. */
import { apiKey } from '../../resources/api-key.ts';
import { credential } from '../../resources/credential.ts';
import type { WriteContext } from '../crud/hooks.ts';
import { resourceInUse } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import { repository } from '../store/repository.ts';

/** How many owned resources an error names. */
const NAMED = 5;

const OWNED = [credential, apiKey].map((family) => ({ collection: family.collection, rows: repository(family) }));

/** Throws RESOURCE_IN_USE naming what a user or bot owns. */
export async function refuseIfOwning({ tx, caller: { account } }: WriteContext, owner: string): Promise<void> {
  const details: Record<string, string> = {};
  for (const { collection, rows } of OWNED) {
    const { rows: owned, more } = await rows.page(tx, { limit: NAMED, account, only: { owner_id: owner } });
    const named = [...owned.map(({ id }) => id), ...(more ? ['…'] : [])];
    if (named.length > 0) details[collection] = named.join(', ');
  }
  const owned = Object.keys(details).map(words);
  if (owned.length > 0) throw resourceInUse(`It still owns ${owned.join(' and ')}; delete those first.`, details);
}

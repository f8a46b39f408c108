/** The caller: clients need it to name an owner, and to renew their key in time. */
import { FIRST_ACCOUNT } from '../../resources/account.ts';
import { apiKey } from '../../resources/api-key.ts';
import { whoami } from '../../resources/whoami.ts';
import { unauthenticated } from '../errors/errors.ts';
import { operation } from '../http/operation.ts';
import type { Database } from '../store/database.ts';
import { apiKeys } from './api-key.ts';
import { botUsers } from './bot-user.ts';
import { users } from './user.ts';

const PATH = '/whoami';

export const getWhoami = operation({
  method: 'GET',
  path: PATH,
  operationId: 'whoami',
  summary: 'Get the caller',
  description: 'Returns the user or bot that owns the API key of this request, and when the key expires.',
  tag: apiKey.tag,
  access: 'anyone',
  family: null,
  params: {},
  success: { status: 200, description: 'The caller.', schema: whoami },
  async handle({ caller: { id, admin, keyId, installation, account, isVisiting }, base }, api) {
    // Visitors are admins of the first account.
    const db = api.db.within(isVisiting ? FIRST_ACCOUNT : account);
    // One after the other: a request must not take two connections of the pool.
    const owner = await ownerOf(db, id, base);
    const key = await apiKeys.rows.get(db, keyId);
    if (!owner || !key) throw unauthenticated('The API key is unknown.');
    const api_key = apiKeys.show(key, base);
    return { body: whoami.parse({ uri: base + PATH, owner, installation_id: installation, admin, api_key }) };
  },
});

/** A user or a bot. Every caller may read their own name. */
async function ownerOf(db: Database, id: string, base: string) {
  for (const { resource, rows, show } of [users, botUsers]) {
    const row = resource.id.safeParse(id).success ? await rows.get(db, id) : undefined;
    if (row) return { type: resource.name, ...show(row, base) };
  }
  return undefined;
}

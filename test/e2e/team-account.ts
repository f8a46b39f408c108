/** Accounts at the API of a stack, with a key of a user there. Only for test files. */
import { z } from 'zod';
import { type Client, createClient } from '../../src/client/client.ts';
import { atEnd } from '../end-of-file.ts';
import { API_KEY } from './stack.ts';

export interface TeamAccount {
  id: string;
  ownerId: string;
  apiKey: string;
  client: Client;
  /** Another key of the same owner, which the client uses from then on. */
  newKey(): Promise<{ id: string; token: string }>;
}

const created = z.object({ id: z.string(), token: z.string().optional() });
const withToken = created.required();

export async function teamAccount(url: string, name: string): Promise<TeamAccount> {
  const post = async (path: string, body: object, account?: string) => {
    const headers = {
      authorization: `Bearer ${API_KEY}`,
      'content-type': 'application/json',
      ...(account !== undefined && { account }),
    };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return created.parse(await response.json());
  };
  const { id } = await post('/accounts', { name });
  const { id: ownerId } = await post('/users', { name: `${name}'s operator`, admin: true }, id);
  let newest = '';
  const newKey = async () => {
    const key = withToken.parse(await post('/api_keys', { owner_id: ownerId }, id));
    newest = key.token;
    return key;
  };
  const { token: apiKey } = await newKey();
  const client = createClient({ baseUrl: url, apiKey: () => newest });
  atEnd(() => client.close());
  return { id, ownerId, apiKey, client, newKey };
}

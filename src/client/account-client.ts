/** Calls for accounts: those of every family, and their deletion with all that belongs to them. */
import { account } from '../resources/account.ts';
import type { ChangeOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { familyClient } from './family-client.ts';
import { segment } from './path-segment.ts';
import type { Transport } from './transport.ts';

export function accountClient(transport: Transport) {
  return {
    ...familyClient(transport, account),
    /**
     * Goes on after the response: `get` shows how many resources are left (`deletion`), until the account does not exist.
     * Returns undefined if it was gone before a response arrived.
     */
    async deleteCascading(id: string, options: ChangeOptions = {}) {
      const path = `${account.path}/${segment(id)}`;
      const answer = await transport.send({ method: 'DELETE', path, query: { cascade: 'true' }, ...options });
      return answer.body === undefined ? undefined : read(account.view, answer);
    },
  };
}

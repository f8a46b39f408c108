/** What API keys and tunnel credentials share: an owner, and a token that is shown once. */
import type { Resource } from '../../resources/definition/resource.ts';
import type { Draft, WriteContext } from '../crud/hooks.ts';
import { invalidByRule, invalidRequest, permissionDenied } from '../errors/errors.ts';
import type { Caller } from '../http/authentication.ts';
import { newToken, tokenHash } from '../secrets/tokens.ts';
import type { Violation } from '../store/database-errors.ts';
import type { Row } from '../store/repository.ts';

/** Hooks of a family whose members are tokens with this prefix. */
export function tokenHooks({ table }: Pick<Resource, 'table'>, prefix: string) {
  return {
    columns: ['token_hash'],
    aboutDelete: 'Its token stops working at once.',
    draft(caller: Caller, input: { owner_id?: string | null | undefined }): Draft & { token: string } {
      const owner_id = input.owner_id ?? caller.id;
      if (owner_id === caller.id && caller.isVisiting)
        throw invalidByRule({ '/owner_id': `must name a user or bot of the account ${caller.account}` });
      if (owner_id !== caller.id && !caller.admin) {
        const reason = "only an admin's API key may name another owner";
        throw permissionDenied('Only admins may name an owner other than themselves.', { '/owner_id': reason });
      }
      const token = newToken(prefix);
      return { fields: { owner_id }, columns: { token_hash: tokenHash(token) }, token };
    },
    async isSecret({ tx }: Pick<WriteContext, 'tx'>, id: string, sent: string) {
      const text = `select 1 from ${table} where id = $1 and token_hash = $2`;
      return (await tx.query({ name: `${table}.is_token`, text, values: [id, tokenHash(sent)] })).length > 0;
    },
    explain(broken: Violation, { owner_id }: Row) {
      return broken.kind === 'missing'
        ? invalidRequest({ '/owner_id': `owner ${owner_id} does not exist` }, { '/owner_id': 'does not exist' })
        : undefined;
    },
  };
}

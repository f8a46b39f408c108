/** Response of `GET /account/usage` (extension): how many resources the account of the caller has, and may have. */
import { z } from 'zod';
import { QUOTA_NAMES } from './account.ts';
import { ref } from './definition/resource.ts';

const usage = z
  .object({
    used: z.int().meta({ description: 'How many the account has.', examples: [42] }),
    limit: z
      .int()
      .nullable()
      .meta({ description: 'How many it may have. Null: no limit.', examples: [100] }),
  })
  .meta({ id: 'Usage' });

const ofFamily = (name: string) => usage.meta({ description: `How many ${name} the account has, and may have.` });

export const accountUsage = z
  .object({
    uri: z.url().meta({ description: 'Address of this response.' }),
    account: ref.meta({ description: 'The account.' }),
    families: z
      .object(Object.fromEntries(QUOTA_NAMES.map((name) => [name, ofFamily(name)])))
      .meta({ description: 'By the names that quotas have.' }),
  })
  .meta({ id: 'AccountUsage', description: 'How many resources the account of the caller has, by family.' });

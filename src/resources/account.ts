/** Accounts (extension): each resource and API key belongs to one, and callers see only what belongs to theirs. */
import { z } from 'zod';
import { ACCOUNT_FAMILIES } from './account-families.ts';
import { derived, optional, personName, resource } from './definition/resource.ts';
import { bytes, timestamp } from './formats/text.ts';

/** Has what earlier releases stored. Its admins are platform admins: they may manage accounts and act in each of them. */
export const FIRST_ACCOUNT = 'acc_01m8j9ky00e008000000000000';

/** Names the account of a request. Without it, the request is made in the account of its API key. */
export const ACCOUNT_HEADER = 'account';

/** By the names of their tables, which all differ. */
export const QUOTA_NAMES: readonly string[] = ACCOUNT_FAMILIES.map(({ table }) => table);

/** @param member how many of a family */
const quotasOf = <T extends z.ZodType>(member: T) =>
  z.strictObject(
    Object.fromEntries(
      QUOTA_NAMES.map((name) => [name, member.meta({ description: 'How many it may have.' }).optional()]),
    ),
    {
      error: ({ code }) => (code === 'unrecognized_keys' ? `must be one of ${QUOTA_NAMES.join(', ')}` : undefined),
    },
  );
const about = {
  description:
    'How many resources of a family the account may have, by family. A family that is left out has no limit.',
  examples: [{ ip_policies: 100 }],
};
const count = z.int().min(0).max(100_000);
const shownQuotas = quotasOf(count).meta(about);
/** Without those that are null. */
const quotas = quotasOf(z.nullable(count))
  .meta(about)
  .transform((given) =>
    shownQuotas.parse(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))),
  );

/** How far the deletion of an account is (`?cascade=true`). */
export const accountDeletion = z
  .object({
    started_at: timestamp().meta({ description: 'When it began.' }),
    remaining: z.int().nullable().meta({ description: 'How many resources are left; null: not counted yet.' }),
    error: z
      .string()
      .nullable()
      .meta({
        description: 'Why the last attempt to go on failed; it is repeated. Null while there is no problem.',
        examples: ['could not delete IP policies: canceling statement due to lock timeout'],
      }),
  })
  .meta({ id: 'AccountDeletion', description: 'Deletion of an account with all that belongs to it.' });

export const account = resource({
  name: 'account',
  title: 'Account',
  prefix: 'acc',
  path: '/accounts',
  collection: 'accounts',
  tag: 'Accounts',
  extension: true,
  access: 'platform',
  description:
    'What belongs to one team. API keys see and change only what belongs to their account. Only platform admins, who are the admins of the first account, may manage accounts.',
  fields: {
    name: personName(bytes(255).meta({ description: 'Name of the account, for people.', examples: ['Payments'] })),
    quotas: { ...optional(quotas, 'jsonb'), view: z.nullable(shownQuotas).meta({ description: about.description }) },
    requests_per_second: optional(
      z
        .int()
        .min(1)
        .max(1_000_000)
        .meta({
          description: 'How many requests a second all API keys of the account may make together. Null: no limit.',
          examples: [500],
        }),
    ),
    deletion: {
      ...derived(
        accountDeletion.nullable().meta({
          description: 'Null unless the account is being deleted. Progress changes neither revision nor ETag.',
        }),
        'jsonb',
      ),
      movesByItself: true,
    },
  },
  samples: {
    least: { name: 'account {n}' },
    full: { name: 'account {n}', quotas: { ip_policies: 100 }, requests_per_second: 1000 },
    change: { name: 'renamed' },
  },
});

/** Accounts (extension): each resource and API key belongs to one, and callers see only what belongs to theirs. */
import { personName, resource } from './definition/resource.ts';
import { bytes } from './formats/text.ts';

/** Has what earlier releases stored. Its admins are platform admins: they may manage accounts and act in each of them. */
export const FIRST_ACCOUNT = 'acc_01m8j9ky00e008000000000000';

/** Names the account of a request. Without it, the request is made in the account of its API key. */
export const ACCOUNT_HEADER = 'account';

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
  },
  samples: {
    least: { name: 'account {n}' },
    full: { name: 'account {n}' },
    change: { name: 'renamed' },
  },
});

/** `Account`: what belongs to one team. It is also the connection of the namespaces that it selects. */
import { account, FIRST_ACCOUNT } from '../../resources/account.ts';
import { namespaceSelector } from '../managed/declaration/namespace-selector.ts';
import { plainKind } from './plain-kind.ts';

export const accountKind = plainKind(account, {
  kind: 'Account',
  shortNames: ['tacc'],
  description:
    "An account of the management API, for one team: the resources of the objects in the selected namespaces belong to it. It must be in the operator's own namespace.",
  isAdministrative: true,
  calls: (client) => client.accounts,
  spec: {
    namespaceSelector: namespaceSelector.optional().meta({
      description:
        'The namespaces whose objects have their resources in this account, by their labels. An empty one selects all. Default: none.',
    }),
  },
  isBuiltIn: ({ id }) => id === FIRST_ACCOUNT,
  columns: ['name'],
  wideColumns: ['requests_per_second'],
});

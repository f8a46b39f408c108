/** All families, in the order of the documentation, under the names that the typed client uses. */
import { account } from './account.ts';
import { accountFamilies } from './account-families.ts';
import type { Resource } from './definition/resource.ts';

export const families = { ...accountFamilies, accounts: account } as const;

export const FAMILIES: readonly Resource[] = Object.values(families);

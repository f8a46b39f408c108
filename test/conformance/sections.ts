/** All rows, in the order of the published table. */
import type { Section } from './row.ts';
import { ipPolicies } from './rows/ip-policies.ts';

export const SECTIONS: readonly Section[] = [ipPolicies];

/** All rows, in the order of the published table. */
import type { Section } from './row.ts';
import { authentication } from './rows/authentication.ts';
import { commonConventions } from './rows/common-conventions.ts';
import { errors } from './rows/errors.ts';
import { generalRules } from './rows/general-rules.ts';
import { ipPolicies } from './rows/ip-policies.ts';
import { versioning } from './rows/versioning.ts';

export const SECTIONS: readonly Section[] = [
  generalRules,
  authentication,
  commonConventions,
  errors,
  versioning,
  ipPolicies,
];

/** All rows, in the order of the published table. */
import type { Section } from './row.ts';
import { apiKeys } from './rows/api-keys.ts';
import { authentication } from './rows/authentication.ts';
import { botUsers } from './rows/bot-users.ts';
import { commonConventions } from './rows/common-conventions.ts';
import { conditionalRequests } from './rows/conditional-requests.ts';
import { credentials } from './rows/credentials.ts';
import { endpointConfigurations } from './rows/endpoint-configurations.ts';
import { errors } from './rows/errors.ts';
import { generalRules } from './rows/general-rules.ts';
import { httpResponseBackends } from './rows/http-response-backends.ts';
import { idempotencyKeys } from './rows/idempotency.ts';
import { ipPolicies } from './rows/ip-policies.ts';
import { ipPolicyRules } from './rows/ip-policy-rules.ts';
import { reservedDomains } from './rows/reserved-domains.ts';
import { tunnelGroupBackends } from './rows/tunnel-group-backends.ts';
import { users } from './rows/users.ts';
import { versioning } from './rows/versioning.ts';

export const SECTIONS: readonly Section[] = [
  generalRules,
  authentication,
  commonConventions,
  errors,
  versioning,
  ipPolicies,
  credentials,
  httpResponseBackends,
  reservedDomains,
  botUsers,
  ipPolicyRules,
  apiKeys,
  users,
  tunnelGroupBackends,
  endpointConfigurations,
  idempotencyKeys,
  conditionalRequests,
];

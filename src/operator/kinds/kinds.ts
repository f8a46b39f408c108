/** Every kind that the operator manages. */
import { botUserKind } from './bot-user.ts';
import { ipPolicyKind } from './ip-policy.ts';
import type { AnyPlainKind } from './plain-kind.ts';
import { tunnelCredentialKind } from './tunnel-credential.ts';
import { tunnelGroupBackendKind } from './tunnel-group-backend.ts';

export const kinds: readonly AnyPlainKind[] = [ipPolicyKind, tunnelCredentialKind, botUserKind, tunnelGroupBackendKind];

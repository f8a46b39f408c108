/** Every kind that the operator runs. */
import type { AnyKind } from '../managed/kind.ts';
import { ipPolicyKind } from './ip-policy.ts';
import { tunnelCredentialKind } from './tunnel-credential.ts';

export const kinds: readonly AnyKind[] = [ipPolicyKind, tunnelCredentialKind];

/** A policy and a credential, as many stories have them. Only for test files. */

import type { CredentialSpec } from './declared.ts';
import type { Call } from './proxy.ts';
import type { Stage } from './stage.ts';

export const policy = { kind: 'IPPolicy', name: 'policy' } as const;
export const agent = { kind: 'TunnelCredential', name: 'agent' } as const;
export const POLICY = { description: 'a policy', rules: [{ cidr: '10.0.0.0/8', action: 'allow' as const }] };
export const AGENT: CredentialSpec = { description: 'an agent', rotation: { overlap: '50ms' } };

export async function createBoth(stage: Stage): Promise<void> {
  await stage.apply({ ...policy, spec: POLICY });
  await stage.apply({ ...agent, spec: AGENT });
}

export const isCreate = ({ method, path }: Call) => method === 'POST' && /^\/(credentials|ip_policies)$/.test(path);

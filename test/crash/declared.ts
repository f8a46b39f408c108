/** What users declare on a stage: objects of any kind, and their types. Only for test files. */
import type { Declaration } from '../../dev/fixtures/kinds.ts';
import { storyRow } from '../../dev/fixtures/story-rows.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';

export interface PolicySpec {
  description?: string;
  metadata?: string;
  rules?: { cidr: string; action: 'allow' | 'deny'; description?: string }[];
  deletionPolicy?: 'Delete' | 'Retain';
}

export interface CredentialSpec {
  description?: string;
  acl?: string[];
  ownerId?: string;
  secret?: { name?: string; key?: string };
  rotation?: { interval?: string; overlap?: string };
  deletionPolicy?: 'Delete' | 'Retain';
}

/** An object of any kind that is declared as its row says. */
interface DeclaredByRow extends Declaration {
  readonly kind: string;
  readonly name: string;
}

export type Declared =
  | DeclaredByRow
  | { readonly kind: 'IPPolicy'; readonly name: string; readonly spec: PolicySpec }
  | { readonly kind: 'TunnelCredential'; readonly name: string; readonly spec: CredentialSpec };

/** Enough to find an object. */
export type Named = Pick<Declared, 'kind' | 'name'>;

export const typeOf = (kind: Declared['kind']): ResourceType => storyRow(kind).type;

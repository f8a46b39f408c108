/** The part of a spec that every custom resource has, and how a spec is read. */
import { z } from 'zod';
import { CONNECTION_KIND } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { type CelRule, objectNameRules } from './cel.ts';
import { Blocked } from './external.ts';

/** Names the connection of an object, or of a connection in a record. */
export const connectionRef = z
  .object({
    kind: z.enum(Object.values(CONNECTION_KIND)).default(CONNECTION_KIND.own).meta({
      description:
        'APIConnection: one in the namespace of this object. ClusterAPIConnection and Account: one that selects this namespace.',
    }),
    name: z.string().max(253).meta({ description: 'Name of the connection.', 'x-cel': objectNameRules }),
  })
  .optional()
  .meta({
    description:
      "Which connection to the management API to use, for good. Default: the APIConnection `default` of this namespace; else the ClusterAPIConnection or Account that selects this namespace; else the operator's own API key.",
  });

export const managedSpec = {
  connectionRef,
  deletionPolicy: z.enum(['Delete', 'Retain']).default('Delete').meta({
    description:
      'What happens to the remote resource when this object is deleted. Delete: it is deleted as well. Retain: it is kept.',
  }),
  managementPolicy: z.enum(['Manage', 'Observe']).default('Manage').meta({
    description:
      'Manage: the operator creates the remote resource and keeps it matching the spec. Observe: the operator only reads the resource named in the annotation tunnel-operator.dev/adopt.',
  }),
};

/** Rules about the members of every spec. A resource cannot move to another account. */
export const managedRules: readonly CelRule[] = [
  {
    rule: 'has(self.connectionRef) == has(oldSelf.connectionRef) && (!has(self.connectionRef) || self.connectionRef == oldSelf.connectionRef)',
    message: 'connectionRef cannot be changed: delete this object and create another',
    fieldPath: '.connectionRef',
  },
];

const policies = z.object(managedSpec);

export interface ManagedSpec {
  connectionRef?: z.output<typeof connectionRef>;
  deletionPolicy: 'Delete' | 'Retain';
  managementPolicy: 'Manage' | 'Observe';
}

/** The member of a spec that keeps a resource from serving until its modules are declared. */
export const guardable = {
  requireModules: z.boolean().optional().meta({
    description:
      'If true, the backend is set only once the resource has a module, even if no object declares one. Has no effect on a backend that is already set. Default false.',
  }),
};

/**
 * The parsed spec. The API server has checked most of it, but not what CEL cannot express, nor what only the CRD of
 * another version of the operator allows.
 * @throws Blocked naming every invalid field
 */
export function readSpec<Spec>(schema: z.ZodType<Spec>, object: KubeObject): Spec {
  const parsed = schema.safeParse(object.spec ?? {});
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${fieldPath(path)}: ${message}`);
  throw new Blocked(REASON.rejected, problems.join('; '));
}

function fieldPath(path: readonly PropertyKey[]): string {
  return `spec${path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')}`;
}

/** The policies, which finalizing needs even if the rest of the spec is invalid. */
export function readPolicies(object: KubeObject): ManagedSpec {
  return readSpec(policies, object);
}

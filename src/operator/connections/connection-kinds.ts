/**
 * The custom resources that name a management API and the key to use there. They are no resources of an API themselves, so
 * they have a reconcile of their own.
 */
import { z } from 'zod';
import { apiBaseUrl } from '../../settings/schemas.ts';
import { CONNECTION_KIND, GROUP, VERSION } from '../contract/names.ts';
import { condition } from '../kube/conditions.ts';
import type { ResourceType } from '../kube/kube-api.ts';
import { type CelRule, dataKeyRules, objectNameRules } from '../managed/declaration/cel.ts';
import type { PrinterColumn } from '../managed/declaration/kind.ts';
import { namespaceSelector } from '../managed/declaration/namespace-selector.ts';
import { NOT_OBSERVED } from '../managed/identity/recorded-status.ts';

const secretKeyRef = (where: string) =>
  z
    .object({
      name: z.string().max(253).meta({ description: 'Name of the Secret.', 'x-cel': objectNameRules }),
      key: z
        .string()
        .max(253)
        .default('apiKey')
        .meta({ description: 'Key of the Secret that holds the API key.', 'x-cel': dataKeyRules }),
    })
    .meta({ description: `The Secret with the API key, in ${where}. A new key in it is used at once.` });

const url = apiBaseUrl.optional().meta({
  description:
    "URL of the management API. Default: that of the operator. Another one must be an https URL at a public address, unless the operator's setting --connection-urls lists it.",
});

const caBundle = z.string().max(65_536).optional().meta({
  description:
    'Certificates of the authorities that the API may have its certificate from, in PEM, instead of the public ones.',
});

const ownSpec = z.object({ apiKeySecretRef: secretKeyRef('the same namespace'), url, caBundle });
const sharedSpec = z.object({
  namespaceSelector,
  apiKeySecretRef: secretKeyRef("the operator's own namespace"),
  url,
  caBundle,
});

export const connectionStatus = z.looseObject({
  owner: z
    .object({
      id: z.string().meta({ description: 'Id of the user or bot.' }),
      name: z.string().optional().meta({ description: 'Name of the user or bot.' }),
    })
    .optional()
    .meta({ description: 'Who owns the API key. A key of another owner is refused.' }),
  installationId: z.string().optional().meta({ description: 'Identifies the installation of the management API.' }),
  heldSecret: z
    .string()
    .optional()
    .meta({ description: 'The Secret of its namespace that is kept until the connection is deleted.' }),
  observedGeneration: z.int().default(NOT_OBSERVED).meta({
    description: 'The metadata.generation that this status is about. -1 if it is about none.',
  }),
  conditions: z.array(condition).optional(),
});

export type ConnectionSpec = z.output<typeof ownSpec> & Partial<Pick<z.output<typeof sharedSpec>, 'namespaceSelector'>>;
export type ConnectionStatus = z.output<typeof connectionStatus>;

export interface ConnectionKind {
  kind: (typeof CONNECTION_KIND)['own' | 'shared'];
  plural: string;
  singular: string;
  shortNames: readonly string[];
  description: string;
  isClusterScoped: boolean;
  type: ResourceType;
  spec: z.ZodType<ConnectionSpec>;
  status: z.ZodObject;
  rules: readonly CelRule[];
  printerColumns: readonly PrinterColumn[];
}

type Declared = Pick<ConnectionKind, 'shortNames' | 'description' | 'isClusterScoped' | 'spec'>;

function connectionKind(kind: ConnectionKind['kind'], declared: Declared): ConnectionKind {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  return {
    kind,
    singular,
    plural,
    type: { group: GROUP, version: VERSION, plural },
    status: connectionStatus,
    rules: [],
    printerColumns: [
      { name: 'Owner', type: 'string', jsonPath: '.status.owner.name', description: 'Who owns the API key.' },
      { name: 'URL', type: 'string', jsonPath: '.spec.url', description: 'URL of the management API.', priority: 1 },
    ],
    ...declared,
  };
}

export const apiConnectionKind = connectionKind(CONNECTION_KIND.own, {
  shortNames: ['apicon'],
  description:
    'The API key, and with it the account, that objects of this namespace use. The one named `default` is used by all objects that name none.',
  isClusterScoped: false,
  spec: ownSpec,
});

export const clusterApiConnectionKind = connectionKind(CONNECTION_KIND.shared, {
  shortNames: ['capicon'],
  description: 'The API key, and with it the account, that objects of the selected namespaces use.',
  isClusterScoped: true,
  spec: sharedSpec,
});

export const connectionKinds: readonly ConnectionKind[] = [apiConnectionKind, clusterApiConnectionKind];

/** Who manages a resource (extension): a header of requests that change it, and the record that the API keeps. */
import { z } from 'zod';
import { text, timestamp } from '../formats/text.ts';
import { orNone } from './none.ts';

export const RESOURCE_MANAGER_HEADER = 'resource-manager';

/** An object that manages a resource. */
export interface Manager {
  /** The id of its cluster, a slash, and its own id. Two clusters never have the same. */
  readonly id: string;
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

/** What a manager manages: the resource itself, or its modules, which another object may declare. */
export const WHOLE = '';
export const MODULES = 'modules';
export type ManagedPart = typeof WHOLE | typeof MODULES;

const NAME = '[A-Za-z0-9._-]';

/** As the first half of a manager's id. */
export const CLUSTER_ID = new RegExp(`^${NAME}{1,63}$`);

export const managerId = text()
  .regex(
    new RegExp(`^${NAME}{1,63}/${NAME}{1,63}$`),
    'must be the id of a cluster, a slash, and the id of an object, each of 1 to 63 letters, digits and ". _ -"',
  )
  .meta({ examples: ['8f0c2b1e-55d4-4a7e-9a53-1f0f5d1f2a10/5f1c7a52-3a1e-4a0b-9b57-0d6f2f1f7f10'] });

const HEADER = new RegExp(
  `^(${NAME}{1,63}/${NAME}{1,63}); namespace=(${NAME}{1,253}); kind=(${NAME}{1,253}); name=(${NAME}{1,253})$`,
);

export const MANAGER_EXAMPLE =
  '8f0c2b1e-55d4-4a7e-9a53-1f0f5d1f2a10/5f1c7a52-3a1e-4a0b-9b57-0d6f2f1f7f10; namespace=shop; kind=IPPolicy; name=office';

/** The header as text; `readManager` takes it apart. */
export const managerHeader = z
  .string()
  .regex(HEADER, 'must have the form "CLUSTER/OBJECT; namespace=NAMESPACE; kind=KIND; name=NAME"');

/** @param header that `managerHeader` accepts */
export function readManager(header: string): Manager {
  const [, id = '', namespace = '', kind = '', name = ''] = HEADER.exec(header) ?? [];
  return { id, namespace, kind, name };
}

export const writeManager = ({ id, namespace, kind, name }: Manager): string =>
  `${id}; namespace=${namespace}; kind=${kind}; name=${name}`;

/** The id of the cluster in the id of a manager. */
export const clusterOf = (id: string): string => id.slice(0, id.indexOf('/'));

/** As people name it. */
export const nameOfManager = ({ id, namespace, kind, name }: Manager): string =>
  `the ${kind} ${namespace}/${name} of the cluster ${clusterOf(id)}`;

/** Body of `PUT /resource_managers/{resource_id}`, whose header names the manager. */
export const managerClaim = z
  .strictObject({
    take_over_from: orNone(managerId).optional().meta({
      description: 'Id of the current manager, if it is to lose the resource.',
    }),
  })
  .meta({ id: 'ResourceManagerClaim' });

/** The record as the API shows it. */
export const resourceManager = z
  .object({
    uri: z.url().meta({ description: 'Address of the record.' }),
    id: managerId.meta({ description: 'Id of the manager: that of its cluster, a slash, and that of the object.' }),
    cluster: z.string().meta({
      description: 'Id of the cluster of the object.',
      examples: ['8f0c2b1e-55d4-4a7e-9a53-1f0f5d1f2a10'],
    }),
    namespace: z.string().meta({ description: 'Namespace of the object.', examples: ['shop'] }),
    kind: z.string().meta({ description: 'Kind of the object.', examples: ['IPPolicy'] }),
    name: z.string().meta({ description: 'Name of the object.', examples: ['office'] }),
    since: timestamp().meta({ description: 'Since when it has managed the resource.' }),
  })
  .meta({ id: 'ResourceManager', description: 'The object that manages a resource, or its modules.' });

/** Details of an error about another manager. */
const managerDetails = z.object({
  manager_id: managerId,
  manager_namespace: z.string(),
  manager_kind: z.string(),
  manager_name: z.string(),
});

/** The manager that the details of a 409 name; undefined if the error is about something else. */
export function managerIn(details: Readonly<Record<string, string>>): Manager | undefined {
  const { data } = managerDetails.safeParse(details);
  if (!data) return undefined;
  return { id: data.manager_id, namespace: data.manager_namespace, kind: data.manager_kind, name: data.manager_name };
}

/** Its details in a 409. */
export const detailsOf = ({ id, namespace, kind, name }: Manager) => ({
  manager_id: id,
  manager_cluster: clusterOf(id),
  manager_namespace: namespace,
  manager_kind: kind,
  manager_name: name,
});

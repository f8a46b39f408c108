/** Reading, claiming and releasing the record of who manages a resource, or its modules. */
import { idOf } from '../../resources/definition/id.ts';
import {
  clusterOf,
  type ManagedPart,
  MODULES,
  managerClaim,
  resourceManager,
  WHOLE,
} from '../../resources/definition/manager.ts';
import type { Resource } from '../../resources/definition/resource.ts';
import { belongingTo, type Family } from '../crud/family.ts';
import { hold, type Managed, type ManagerRecord, readManagerOf, release } from '../crud/managers.ts';
import { notFound } from '../errors/errors.ts';
import { type Api, type Call, type Operation, type OperationResult, operation } from '../http/operation.ts';
import type { Executor } from '../store/database.ts';

type ManagedFamily = Pick<Family, 'rows' | 'require'> & { readonly resource: Resource };
type ManagerCall = Pick<Call<'resource_id'>, 'caller' | 'params' | 'base'>;

const PATH = '/resource_managers/{resource_id}';

/** The operations for all resources, and those for the modules of the families that have some. */
export function managerOperations(families: readonly ManagedFamily[]): Operation[] {
  const withModules = families.filter(({ resource }) => 'modules' in resource.fields);
  return [...operationsOf(families, WHOLE), ...operationsOf(withModules, MODULES)];
}

function operationsOf(families: readonly ManagedFamily[], part: ManagedPart): Operation[] {
  const id = idOf(...families.map(({ resource }) => resource.prefix));
  const [what, name, of] =
    part === MODULES
      ? ['the modules of a resource', 'ModuleManager', 'resource that has the modules']
      : ['a resource', 'ResourceManager', 'resource'];
  const familyOf = (resourceId: string) => families.find(({ resource }) => resource.id.safeParse(resourceId).success);
  const common = {
    path: part === WHOLE ? PATH : `${PATH}/${part}`,
    tag: 'Resource managers',
    family: null,
    permissionFor({ resource_id = '' }: Readonly<Record<string, string>>) {
      const family = familyOf(resource_id);
      return family && belongingTo(family.resource);
    },
    params: { resource_id: { schema: id, description: `Id of the ${of}.` } },
  } as const;

  /** Runs the work while the resource is locked, if the caller may see it. */
  async function locked<T>({ db }: Api, call: ManagerCall, work: (tx: Executor, managed: Managed) => Promise<T>) {
    const resourceId = call.params.resource_id;
    const family = familyOf(resourceId);
    if (!family) throw new Error('an id of no family');
    return db.transaction(async (tx) => {
      family.require(await family.rows.lock(tx, resourceId), resourceId, call);
      return work(tx, { resourceId, part });
    });
  }

  return [
    operation({
      ...common,
      method: 'GET',
      operationId: `get${name}`,
      summary: `Get the manager of ${what}`,
      description: 'Returns 404 if no manager is recorded.',
      access: 'admin',
      success: { status: 200, description: 'The manager.', schema: resourceManager },
      async handle(call, { db }) {
        const managed: Managed = { resourceId: call.params.resource_id, part };
        return answer(call, managed, required(await readManagerOf(db, managed), managed));
      },
    }),
    operation({
      ...common,
      method: 'PUT',
      operationId: `claim${name}`,
      summary: `Claim ${what} for a manager`,
      description:
        'Records the manager that the header names. Fails with 409 while another one is recorded, unless `take_over_from` ' +
        'has the id of that one.',
      access: 'anyone',
      body: managerClaim,
      manages: 'always',
      success: { status: 200, description: 'The manager.', schema: resourceManager },
      handle: (call, api) =>
        locked(api, call, async (tx, managed) => {
          const { manager, body } = call;
          if (!manager) throw new Error('a claim without a manager');
          return answer(call, managed, await hold(tx, managed, manager, body.take_over_from));
        }),
    }),
    operation({
      ...common,
      method: 'DELETE',
      operationId: `release${name}`,
      summary: `Release ${what} from its manager`,
      description:
        'Deletes the record, so that another manager can claim it. With the header, only if it names the recorded manager. ' +
        'It is no error if none is recorded.',
      access: 'anyone',
      manages: 'optionally',
      success: { status: 204, description: 'No manager is recorded.' },
      handle: (call, api) =>
        locked(api, call, async (tx, managed) => {
          await release(tx, managed, call.manager);
          return {};
        }),
    }),
  ];
}

function required(found: ManagerRecord | undefined, { resourceId }: Managed): ManagerRecord {
  if (found) return found;
  throw notFound(`${resourceId} has no recorded manager.`, { resource_id: resourceId });
}

function answer({ base }: ManagerCall, { resourceId, part }: Managed, record: ManagerRecord): OperationResult {
  const uri = [`${base}/resource_managers/${resourceId}`, part].filter(Boolean).join('/');
  return { body: { uri, ...record, cluster: clusterOf(record.id) } };
}

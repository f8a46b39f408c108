/** The record of who manages a resource: written by the statement that creates the resource, deleted by the one that deletes it. */
import { type Manager, WHOLE } from '../../resources/definition/manager.ts';

/** The columns of `managerValues`. */
export const MANAGER_COLUMNS = ['manager_id', 'namespace', 'kind', 'name'];

/** A CTE that records the manager of a new resource, with its values as parameters from `$first` on. */
export function managerCte(first: number, { id, since }: Record<'id' | 'since', string>): string {
  const values = MANAGER_COLUMNS.map((_, index) => `$${first + index}`).join(', ');
  return `
    managed as (insert into resource_managers (resource_id, part, ${MANAGER_COLUMNS.join(', ')}, since)
                values (${id}, '${WHOLE}', ${values}, ${since}))`;
}

/** The values for `managerCte`. */
export const managerValues = ({ id, namespace, kind, name }: Manager): string[] => [id, namespace, kind, name];

/** A CTE that deletes the records of resources, and of their modules. */
export const forgetManagersCte = (match: string): string =>
  `unmanaged as (delete from resource_managers where resource_id ${match})`;

/** What `export` says of resources that an object manages already. */
import { type Client, isNotFound } from '../../client/client.ts';
import { type Manager, nameOfManager } from '../../resources/definition/manager.ts';
import { ANNOTATION } from '../contract/names.ts';
import { ownId } from '../kinds/external-of-family.ts';

/** So many requests at once. */
const AT_ONCE = 16;

/** The recorded managers by the ids of the resources. Only admins may read them. */
export async function managersOf(
  managers: Client['resourceManagers'],
  ids: readonly string[],
): Promise<ReadonlyMap<string, Manager>> {
  const found = new Map<string, Manager>();
  const waiting = [...ids];
  const read = async () => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const manager = await managers.get(ownId(id)).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      if (manager) found.set(id, manager);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, read));
  return found;
}

export function aboutManager(manager: Manager): string {
  return `Managed by ${nameOfManager(manager)}: an object of this manifest waits (ManagementConflict) until that one is deleted with deletionPolicy Retain, or until you annotate this one with ${ANNOTATION.takeOver}=${manager.id}`;
}

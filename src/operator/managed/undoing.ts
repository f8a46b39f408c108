/**
 * Undoing a create that was begun, because the object is only to observe by now. Whether it has taken effect is known only to
 * the API; nobody was told of what it made.
 */
import { deleteAll, remainsOf } from './disposal.ts';
import { readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { closeCreates } from './recovery.ts';
import { rotationUndone } from './rotation.ts';

/** What was to be replaced by it stays the object's resource, unless the new token is stored already. */
export async function undoCreate(managed: ManagedObject): Promise<void> {
  const begun = readIdentity(managed.object);
  if (begun.externalId !== undefined || begun.generation === 0) return;
  // A stale cache could hold a create that has succeeded since.
  await managed.mustBeNewest();
  const identity = await closeCreates(managed);
  const held = (await managed.kind.delivery?.stored(managed.object)) ?? [];
  const { stays, others } = await remainsOf(managed, identity, held);
  const isKnown = (id: string | undefined) => begun.retiring.some((entry) => entry.id === id);
  await deleteAll(
    managed,
    others.filter(({ id }) => !isKnown(id)),
  );
  await managed.persist(
    {
      externalId: stays?.id,
      generation: stays === undefined || stays.generation === 0 ? 0 : identity.generation,
      createKey: undefined,
      retiring: others.filter(({ id }) => isKnown(id)),
    },
    isKnown(stays?.id) ? rotationUndone(managed.object) : {},
  );
}

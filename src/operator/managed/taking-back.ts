/**
 * Taking back a superseded resource that still exists, because the spec asks for it again: its successor was refused, or is
 * not wanted any more. Another new one would stand in its way for ever where only one of them can have something, such as
 * the path of a route; and whatever refers to it would have to move for nothing.
 */
import { EVENT_REASON } from '../contract/reasons.ts';
import { everythingOf } from './disposal.ts';
import type { Remote } from './external.ts';
import { knows, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { closeCreates } from './recovery.ts';
import { isRotationBegun } from './rotation.ts';
import type { ManagedSpec } from './spec.ts';

/** Whether a superseded resource is the object's current one again. */
export async function takeBack(managed: ManagedObject, spec: ManagedSpec): Promise<boolean> {
  // A token was superseded for its own sake, and so is what somebody wants another one of.
  if (managed.kind.delivery?.handout.isOneTime || isRotationBegun(managed.object)) return false;
  const { externalId: successor, retiring } = readIdentity(managed.object);
  // The last one first: it is the one that was in use last.
  for (const { id } of retiring.toReversed()) {
    const remote = await managed.kind.external.observe(id);
    if (remote && fits(managed, spec, remote)) return resume(managed, remote, successor);
    if (remote && successor === undefined) managed.replaces ??= `A new resource replaces ${id}`;
  }
  return false;
}

function fits({ kind, object }: ManagedObject, spec: ManagedSpec, remote: Remote): boolean {
  if (kind.external.immutableChanges(spec, remote).length > 0) return false;
  return kind.delivery?.renewal(object, spec, remote, new Date()).due === undefined;
}

async function resume(managed: ManagedObject, { id }: Remote, successor: string | undefined): Promise<boolean> {
  // A stale cache could list what is not superseded any more.
  await managed.mustBeNewest();
  // A create may have taken effect, or do so yet; nobody was told of what it made.
  const identity = await closeCreates(managed);
  if (!knows(identity, id)) return false;
  const entries = everythingOf(identity);
  const isAdopted = entries.some((entry) => entry.id === id && entry.generation === 0);
  const now = new Date().toISOString();
  const others = entries.filter((entry) => entry.id !== id);
  await managed.persist({
    externalId: id,
    generation: isAdopted ? 0 : identity.generation,
    createKey: undefined,
    retiring: others.map((entry) => ({ ...entry, after: entry.after || now })),
  });
  if (successor === undefined) return true;
  const message = `The spec asks for ${id} again, which takes the place of ${successor}`;
  managed.recordEvent('Normal', EVENT_REASON.replaced, message);
  return true;
}

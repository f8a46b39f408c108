/** Event handlers that requeue the objects affected when something that they refer to changes. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../kube/kube-object.ts';
import { type ChangeHandler, type ObjectChange, statesOf } from '../kube/object-store.ts';
import { inputsOf } from '../managed/declaration/input.ts';
import { readIdentity } from '../managed/identity/identity.ts';
import { isDeleting, isFinalized, readStatus } from '../managed/identity/recorded-status.ts';
import { type Inputs, resourceIdOf } from '../managed/knowledge/inputs.ts';
import { type ObjectKey, objectKey, partsOf, targetOf } from '../managed/knowledge/reference-index.ts';
import { isWaitingForModules } from '../managed/steps/guarding.ts';

/** Indexes the references of the objects of one kind. */
export class IndexInputs implements ChangeHandler {
  readonly #kind: string;
  readonly #inputs: Inputs;
  readonly #membersOf: (object: KubeObject) => unknown;

  constructor(kind: string, inputs: Inputs, membersOf: (object: KubeObject) => unknown) {
    this.#kind = kind;
    this.#inputs = inputs;
    this.#membersOf = membersOf;
  }

  onChange(change: ObjectChange): void {
    // Status and annotations refer to nothing.
    if (change.type === 'updated' && refersToTheSame(change.previous, change.object)) return;
    const { namespace = '', name } = change.object.metadata;
    const isGone = change.type === 'deleted' || isFinalized(change.object);
    const spec = isGone ? undefined : this.#membersOf(change.object);
    const before = this.#inputs.index.targetsOf(objectKey(this.#kind, namespace, name));
    const after = new Set(inputsOf(spec).map((placed) => targetOf(placed, namespace)));
    this.#inputs.index.set(objectKey(this.#kind, namespace, name), after);
    for (const target of before) if (!after.has(target)) enqueueIfWaiting(this.#inputs, target);
  }
}

/** Adds the objects that refer to a changed one, if they see it differently now. */
export class EnqueueReferrers implements ChangeHandler {
  readonly #kind: string;
  readonly #inputs: Inputs;
  readonly #foundBy: () => ObjectKey | undefined;

  /** @param foundBy the object whose reconcile has just found the change */
  constructor(kind: string, inputs: Inputs, foundBy: () => ObjectKey | undefined = () => undefined) {
    this.#kind = kind;
    this.#inputs = inputs;
    this.#foundBy = foundBy;
  }

  onChange(change: ObjectChange): void {
    const { namespace = '', name } = change.object.metadata;
    const key = objectKey(this.#kind, namespace, name);
    if (this.#inputs.peer(this.#kind)) {
      // Its own writes change what others see of it.
      if (change.type === 'updated' && sameForReferrers(change.previous, change.object)) {
        if (movedOn(change.previous, change.object)) {
          for (const target of this.#inputs.index.targetsOf(key)) enqueueIfWaiting(this.#inputs, target);
        }
        return;
      }
    }
    // The others must be told now: no watch will report it again.
    const finder = this.#foundBy();
    for (const referrer of this.#inputs.index.referrersOf(key)) {
      if (referrer !== finder) enqueue(this.#inputs, referrer);
    }
    for (const target of this.#inputs.index.targetsOf(key)) enqueueIfWaiting(this.#inputs, target);
  }
}

/**
 * For a kind whose objects are modules of routes or edges: requeues the owner when the object's status changes or it refers
 * to another owner, since the owner's status names its modules.
 */
export class EnqueueOwnersOfModules implements ChangeHandler {
  readonly #ownerKind: string;
  readonly #inputs: Inputs;

  constructor(ownerKind: string, inputs: Inputs) {
    this.#ownerKind = ownerKind;
    this.#inputs = inputs;
  }

  onChange(change: ObjectChange): void {
    const { before, after } = statesOf(change);
    const had = before && ownersOf(before);
    const has = after && ownersOf(after);
    const isTheSame = isDeepStrictEqual(had, has) && isDeepStrictEqual(before?.status, after?.status);
    if (isTheSame) return;
    const owners = this.#inputs.peer(this.#ownerKind);
    for (const id of new Set([...(had ?? []), ...(has ?? [])])) {
      for (const key of owners?.concernedWith?.(id) ?? []) owners?.enqueue(key);
    }
  }
}

/** The resources at which the object has set modules, or may have. */
function ownersOf(object: KubeObject): string[] {
  if (isFinalized(object)) return [];
  const ids = [readStatus(object).id, ...readIdentity(object).retiring.map(({ id }) => id)];
  return ids.filter((id) => id !== undefined);
}

/** Adds all objects with references into other namespaces when a ReferenceGrant changes. */
export class EnqueueCrossing implements ChangeHandler {
  readonly #inputs: Inputs;

  constructor(inputs: Inputs) {
    this.#inputs = inputs;
  }

  onChange({ object }: ObjectChange): void {
    this.enqueue(object.metadata.namespace);
  }

  /** @param namespace the referenced namespace; all if undefined */
  enqueue(namespace?: string): void {
    for (const referrer of this.#inputs.index.crossingInto(namespace)) enqueue(this.#inputs, referrer);
  }
}

/**
 * Once the objects of a late kind are known: adds the objects that refer to this kind, including those whose target does
 * not exist after all, and those that may have waited for its objects.
 */
export function enqueueAround(kind: string, inputs: Inputs): void {
  for (const referrer of inputs.index.referrersOfKind(kind)) enqueue(inputs, referrer);
  for (const { metadata } of inputs.peer(kind)?.store.values() ?? []) {
    const targets = inputs.index.targetsOf(objectKey(kind, metadata.namespace ?? '', metadata.name));
    for (const target of targets) enqueueIfWaiting(inputs, target);
  }
}

function refersToTheSame(before: KubeObject, after: KubeObject): boolean {
  return isFinalized(before) === isFinalized(after) && isDeepStrictEqual(before.spec, after.spec);
}

function sameForReferrers(before: KubeObject, after: KubeObject): boolean {
  return resourceIdOf(before) === resourceIdOf(after) && isDeleting(before) === isDeleting(after);
}

/** Whether a reconcile has succeeded in between, so that the resource may now refer to something else. */
function movedOn(before: KubeObject, after: KubeObject): boolean {
  return !isDeepStrictEqual(before.status, after.status);
}

function enqueue(inputs: Inputs, referrer: ObjectKey): void {
  const { kind, namespace, name } = partsOf(referrer);
  inputs.peer(kind)?.enqueue(`${namespace}/${name}`);
}

/** An object that is being deleted, has superseded resources or is not guarded yet may be waiting for its referrers. */
function enqueueIfWaiting(inputs: Inputs, target: ObjectKey): void {
  const { kind, namespace, name } = partsOf(target);
  const object = inputs.peer(kind)?.store.get(`${namespace}/${name}`);
  if (!object) return;
  const isWaiting = isDeleting(object) || readIdentity(object).retiring.length > 0 || isWaitingForModules(object);
  if (isWaiting) enqueue(inputs, target);
}

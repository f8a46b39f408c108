/** Indexes which objects refer to which others, in both directions. No I/O. */
import { type PlacedInput, Reference } from '../declaration/input.ts';

/** An object of any kind: `Kind/namespace/name`. */
export type ObjectKey = `${string}/${string}/${string}`;

export const objectKey = (kind: string, namespace: string, name: string): ObjectKey => `${kind}/${namespace}/${name}`;

export function partsOf(key: ObjectKey): { kind: string; namespace: string; name: string } {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  return { kind, namespace, name };
}

/** What the input refers to, seen from a namespace. */
export function targetOf({ input }: Pick<PlacedInput, 'input'>, namespace: string): ObjectKey {
  if (input instanceof Reference) return objectKey(input.kind, input.namespace ?? namespace, input.name);
  return objectKey(input.kind, namespace, input.name);
}

const NONE: ReadonlySet<ObjectKey> = new Set();

export class ReferenceIndex {
  readonly #referrers = new Map<ObjectKey, Set<ObjectKey>>();
  readonly #targets = new Map<ObjectKey, ReadonlySet<ObjectKey>>();

  /** Replaces the targets of the referrer. */
  set(referrer: ObjectKey, targets: ReadonlySet<ObjectKey>): void {
    for (const target of this.targetsOf(referrer)) {
      if (targets.has(target)) continue;
      const others = this.#referrers.get(target);
      others?.delete(referrer);
      if (others?.size === 0) this.#referrers.delete(target);
    }
    for (const target of targets) {
      const known = this.#referrers.get(target);
      if (known) known.add(referrer);
      else this.#referrers.set(target, new Set([referrer]));
    }
    if (targets.size > 0) this.#targets.set(referrer, targets);
    else this.#targets.delete(referrer);
  }

  referrersOf(target: ObjectKey): ReadonlySet<ObjectKey> {
    return this.#referrers.get(target) ?? NONE;
  }

  /** The objects that refer to some object of the kind, whether it exists or not. */
  referrersOfKind(kind: string): ObjectKey[] {
    const ofKind = [...this.#referrers].filter(([target]) => partsOf(target).kind === kind);
    return [...new Set(ofKind.flatMap(([, referrers]) => [...referrers]))];
  }

  /** The objects that refer into the namespace from another one; if undefined, into any. */
  crossingInto(namespace: string | undefined): ObjectKey[] {
    return [...this.#targets].flatMap(([referrer, targets]) => {
      const others = [...targets].map((target) => partsOf(target).namespace);
      const from = partsOf(referrer).namespace;
      return others.some((to) => to !== from && to === (namespace ?? to)) ? [referrer] : [];
    });
  }

  targetsOf(referrer: ObjectKey): ReadonlySet<ObjectKey> {
    return this.#targets.get(referrer) ?? NONE;
  }
}

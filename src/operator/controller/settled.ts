/**
 * The versions of objects that need no further work: what a reconcile read or wrote last. A version that a watch reports
 * afterwards, as it does for our own writes, is compared with it.
 */
import { isNewer, type KubeObject, keyOf } from '../kube/kube-object.ts';

export class SettledVersions {
  readonly #versions = new Map<string, string>();

  set(object: KubeObject): void {
    this.#versions.set(keyOf(object), object.metadata.resourceVersion);
  }

  delete(key: string): void {
    this.#versions.delete(key);
  }

  /** Whether the object has not changed since it was settled. */
  covers(object: KubeObject): boolean {
    const settled = this.#versions.get(keyOf(object));
    return settled !== undefined && !isNewer(object.metadata.resourceVersion, settled);
  }
}

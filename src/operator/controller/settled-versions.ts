/**
 * The object versions that need no further work: the last one that each reconcile read or wrote. Versions that the
 * watch reports later, among them this process's own writes, are compared with it.
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

  /** Whether the object is unchanged since it was settled. */
  covers(object: KubeObject): boolean {
    const settled = this.#versions.get(keyOf(object));
    return settled !== undefined && !isNewer(object.metadata.resourceVersion, settled);
  }
}

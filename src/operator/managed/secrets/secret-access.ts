/** How a delivery reads and writes Secrets. The cache contains every write by the time the call returns. */
import type { KubeApi } from '../../kube/kube-api.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { type CachedSecret, SECRETS, type SecretCache } from './secret-cache.ts';

export class SecretAccess {
  readonly #kube: KubeApi;
  readonly #cache: SecretCache;
  /** Whether objects of the namespace may adopt what a Secret holds the value of. */
  readonly mayAdopt: (namespace: string) => boolean;

  constructor(kube: KubeApi, cache: SecretCache, mayAdopt: (namespace: string) => boolean) {
    this.#kube = kube;
    this.#cache = cache;
    this.mayAdopt = mayAdopt;
  }

  /**
   * The Secret of that name in the object's namespace, from the cache: only the operator's own, with digests for data.
   */
  cached(object: KubeObject, name: string): CachedSecret | undefined {
    return this.#cache.get(object.metadata.namespace ?? '', name);
  }

  /** Names of the Secrets owned by the object with this UID, from the cache. */
  ownedBy(uid: string): readonly string[] {
    return this.#cache.ownedBy(uid);
  }

  /** The Secret itself, regardless of its owner. */
  find(name: string, namespace: string | undefined): Promise<KubeObject | undefined> {
    return this.#kube.find(SECRETS, name, namespace);
  }

  /** What would be created now. @throws KubeError if nothing could be */
  tryCreate(body: unknown, namespace: string | undefined): Promise<KubeObject> {
    return this.#kube.tryCreate(SECRETS, body, namespace);
  }

  /** What it would be changed to now. @throws KubeError if it could not be */
  tryPatch(name: string, body: unknown, namespace: string | undefined): Promise<KubeObject> {
    return this.#kube.tryPatch(SECRETS, name, body, namespace);
  }

  async create(body: unknown, namespace: string | undefined): Promise<KubeObject> {
    return this.#observed(await this.#kube.create(SECRETS, body, namespace));
  }

  async patch(name: string, body: unknown, namespace: string | undefined): Promise<KubeObject> {
    return this.#observed(await this.#kube.patch(SECRETS, name, body, namespace));
  }

  /** @throws KubeError (conflict) when the Secret has changed since it was read */
  async delete(secret: KubeObject): Promise<void> {
    const { name, namespace, uid, resourceVersion } = secret.metadata;
    await this.#kube.delete(SECRETS, name, namespace, { uid, resourceVersion });
    this.#cache.watch.observeDelete(secret);
  }

  #observed(written: KubeObject): KubeObject {
    this.#cache.watch.observe(written);
    return written;
  }
}

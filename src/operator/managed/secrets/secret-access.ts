/** How a delivery reads and writes Secrets. The cache contains every write by the time the call returns. */
import type { KubeApi } from '../../kube/kube-api.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { type CachedSecret, SECRETS, type SecretCache } from './secret-cache.ts';

/** How long after a create the next one in the namespace is expected to succeed. */
const TRUST_MS = 60_000;

export class SecretAccess {
  readonly #kube: KubeApi;
  readonly #cache: SecretCache;
  /** By namespace, the time of the last create, unless a later one failed. */
  readonly #createdAt = new Map<string | undefined, number>();
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

  /** Whether Secrets can be created in the namespace, as far as the last minute has shown. */
  acceptsCreates(namespace: string | undefined): boolean {
    const createdAt = this.#createdAt.get(namespace);
    return createdAt !== undefined && Date.now() - createdAt < TRUST_MS;
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
    try {
      const created = this.#observed(await this.#kube.create(SECRETS, body, namespace));
      this.#createdAt.set(namespace, Date.now());
      return created;
    } catch (error) {
      this.#createdAt.delete(namespace);
      throw error;
    }
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

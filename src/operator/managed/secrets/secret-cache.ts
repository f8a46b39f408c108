/** The operator's Secrets, watched so that manual deletions and edits are noticed. Holds digests, never tokens. */
import { z } from 'zod';
import { sha256Hex } from '../../../resources/formats/sha256.ts';
import { MANAGED_BY } from '../../contract/names.ts';
import type { KubeApi, ResourceType } from '../../kube/kube-api.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { type ChangeHandler, type ObjectChange, statesOf } from '../../kube/object-store.ts';
import { slim, WatchCache, type WatchCacheOptions } from '../../kube/watch-cache.ts';
import { decode, encodedData } from './data.ts';
import { ownerUids } from './ownership.ts';

export const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };

export interface CachedSecret {
  object: KubeObject;
  /** The digest of each data value, by key: enough to detect a change, not to use the value. */
  digests: Readonly<Record<string, string>>;
}

const digestMap = z.record(z.string(), z.string());

export class SecretCache implements ChangeHandler {
  readonly watch: WatchCache;
  /** The names of each owner's Secrets, by the owner's UID. */
  readonly #owned = new Map<string, string[]>();

  constructor(
    kube: KubeApi,
    options: Pick<WatchCacheOptions, 'namespaces' | 'presence' | 'isWatched' | 'silenceMs' | 'log' | 'metrics'>,
  ) {
    this.watch = new WatchCache(kube, {
      ...options,
      type: SECRETS,
      labelSelector: `${MANAGED_BY.label}=${MANAGED_BY.value}`,
      transform: withoutData,
    });
    this.watch.addHandler(this);
  }

  get(namespace: string, name: string): CachedSecret | undefined {
    const object = this.watch.store.get(`${namespace}/${name}`);
    return object && { object, digests: digestMap.parse(object.digests) };
  }

  /** Names of the Secrets owned by the object with this UID. */
  ownedBy(uid: string): readonly string[] {
    return this.#owned.get(uid) ?? [];
  }

  onChange(change: ObjectChange): void {
    const { before, after } = statesOf(change);
    for (const uid of ownerUids(before)) {
      const others = this.ownedBy(uid).filter((name) => name !== change.object.metadata.name);
      if (others.length > 0) this.#owned.set(uid, others);
      else this.#owned.delete(uid);
    }
    for (const uid of ownerUids(after)) {
      this.#owned.set(uid, [...this.ownedBy(uid), change.object.metadata.name]);
    }
  }
}

/** The Secret with every data value replaced by its digest. */
export function withoutData(object: KubeObject): KubeObject {
  const digests = Object.fromEntries(
    Object.entries(encodedData(object)).map(([key, value]) => [key, sha256Hex(decode(value))]),
  );
  const { data: _, stringData: __, ...rest } = slim(object);
  return { ...rest, digests };
}

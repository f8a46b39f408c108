/** The Secrets of ours, watched so that one deleted or edited by hand is noticed. Holds digests, never tokens. */
import type { Logger } from 'pino';
import { z } from 'zod';
import { sha256Hex } from '../../../resources/formats/sha256.ts';
import { MANAGED_BY } from '../../contract/names.ts';
import type { KubeApi, ResourceType } from '../../kube/kube-api.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { Change } from '../../kube/object-store.ts';
import { slim, WatchCache } from '../../kube/watch-cache.ts';
import type { CachedSecret } from '../kind.ts';

export const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };

export interface SecretCacheOptions {
  namespace: string | undefined;
  silenceMs: number;
  log: Logger;
  /** Told which object a changed Secret belongs to. */
  onChange: (owner: { kind: string; namespace: string; name: string }) => void;
  onActivity: (activity: string) => void;
}

const digestMap = z.record(z.string(), z.string());

export class SecretCache {
  readonly cache: WatchCache;
  /** By the owner's UID, the names of its Secrets. */
  readonly #owned = new Map<string, string[]>();

  constructor(kube: KubeApi, options: SecretCacheOptions) {
    const { namespace, silenceMs, log, onChange, onActivity } = options;
    this.cache = new WatchCache(kube, {
      type: SECRETS,
      namespace,
      labelSelector: `${MANAGED_BY.label}=${MANAGED_BY.value}`,
      silenceMs,
      log,
      transform: withoutData,
      onActivity,
      onChange: (change, origin) => {
        this.#index(change);
        if (origin === 'own') return;
        // Also whose it was: one that is taken from its owner must come back to it.
        const versions = change.type === 'updated' ? [change.previous, change.object] : [change.object];
        for (const owner of new Map(versions.flatMap(ownerOf)).values()) onChange(owner);
      },
    });
  }

  get(namespace: string, name: string): CachedSecret | undefined {
    return toCached(this.cache.store.get(`${namespace}/${name}`));
  }

  /** Names of the Secrets that belong to the object with this UID. */
  ownedBy(uid: string): readonly string[] {
    return this.#owned.get(uid) ?? [];
  }

  #index(change: Change): void {
    const before = change.type === 'added' ? undefined : change.type === 'updated' ? change.previous : change.object;
    for (const uid of ownersOf(before)) {
      const others = this.ownedBy(uid).filter((name) => name !== change.object.metadata.name);
      if (others.length > 0) this.#owned.set(uid, others);
      else this.#owned.delete(uid);
    }
    if (change.type === 'deleted') return;
    for (const uid of ownersOf(change.object)) {
      this.#owned.set(uid, [...this.ownedBy(uid), change.object.metadata.name]);
    }
  }
}

function ownersOf(object: KubeObject | undefined): Set<string> {
  return new Set(object?.metadata.ownerReferences?.map(({ uid }) => uid));
}

/** The object that the Secret belongs to, by its UID; none for one that is nobody's. */
function ownerOf({ metadata }: KubeObject): [uid: string, owner: { kind: string; namespace: string; name: string }][] {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller);
  return owner ? [[owner.uid, { kind: owner.kind, name: owner.name, namespace: metadata.namespace ?? '' }]] : [];
}

/** The Secret with every data value replaced by its digest. */
function withoutData(object: KubeObject): KubeObject {
  const data = digestMap.safeParse(object.data ?? {}).data ?? {};
  const digests = Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, sha256Hex(Buffer.from(value, 'base64').toString('utf8'))]),
  );
  const { data: _, stringData: __, ...rest } = slim(object);
  return { ...rest, digests };
}

function toCached(object: KubeObject | undefined): CachedSecret | undefined {
  return object && { object, digests: digestMap.parse(object.digests) };
}

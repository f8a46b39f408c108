/**
 * The Secrets and ConfigMaps that specs take text from. They are watched as metadata only and read when needed. Their
 * content is not kept, and unreferenced ones are not kept at all.
 */
import { z } from 'zod';
import { REASON } from '../../contract/reasons.ts';
import type { KubeApi, ResourceType } from '../../kube/kube-api.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { WatchCache, type WatchCacheOptions } from '../../kube/watch-cache.ts';
import type { Blocked } from '../declaration/external.ts';
import { type Source, unresolved } from '../declaration/input.ts';
import { type ObjectKey, objectKey } from './reference-index.ts';

type SourceKind = Source['kind'];

const TYPES: Readonly<Record<SourceKind, ResourceType>> = {
  Secret: { group: '', version: 'v1', plural: 'secrets' },
  ConfigMap: { group: '', version: 'v1', plural: 'configmaps' },
};

export interface SourceText {
  text: string;
  resourceVersion: string;
}

export interface SourceCacheOptions
  extends Pick<WatchCacheOptions, 'namespaces' | 'presence' | 'isWatched' | 'silenceMs' | 'log' | 'metrics'> {
  /** Whether some object takes text from it. */
  isUsed(key: ReturnType<typeof objectKey>): boolean;
}

export class SourceCache {
  readonly #kube: KubeApi;
  readonly #watches: Readonly<Record<SourceKind, WatchCache>>;
  #reader: ObjectKey | undefined;

  constructor(kube: KubeApi, { isUsed, ...options }: SourceCacheOptions) {
    this.#kube = kube;
    const watch = (kind: SourceKind) =>
      new WatchCache(kube, {
        ...options,
        type: TYPES[kind],
        metadataOnly: true,
        transform: bare,
        isKept: ({ metadata }) => isUsed(objectKey(kind, metadata.namespace ?? '', metadata.name)),
      });
    this.#watches = { Secret: watch('Secret'), ConfigMap: watch('ConfigMap') };
  }

  get watches(): readonly (readonly [kind: SourceKind, watch: WatchCache])[] {
    return [
      ['Secret', this.#watches.Secret],
      ['ConfigMap', this.#watches.ConfigMap],
    ];
  }

  /** The resource version according to the cache; undefined if it does not exist, or has not been read yet. */
  versionOf({ kind, name }: Pick<Source, 'kind' | 'name'>, namespace: string): string | undefined {
    return this.#watches[kind].store.get(`${namespace}/${name}`)?.metadata.resourceVersion;
  }

  /**
   * A function that reads sources of one namespace for one object, each once.
   * @throws (the function) Blocked if there is no such text; KubeError, KubeUnreachableError
   */
  reader(namespace: string, by: ObjectKey): (source: Source, path: string) => Promise<SourceText> {
    const found = new Map<string, Promise<KubeObject | undefined>>();
    return async (source, path) => {
      const { kind, name } = source;
      const known = found.get(`${kind}/${name}`) ?? this.#find(kind, name, namespace, by);
      found.set(`${kind}/${name}`, known);
      const object = await known;
      if (!object) throw missingSource(source, namespace, path);
      return { text: textIn(object, source, path), resourceVersion: object.metadata.resourceVersion };
    };
  }

  /** While change handlers run because a source was just read: the object that it was read for. */
  get readBy(): ObjectKey | undefined {
    return this.#reader;
  }

  async #find(kind: SourceKind, name: string, namespace: string, by: ObjectKey): Promise<KubeObject | undefined> {
    const object = await this.#kube.find(TYPES[kind], name, namespace);
    if (!object) return undefined;
    this.#reader = by;
    // From now on, the cache reports its changes and its deletion.
    this.#watches[kind].observe(object);
    this.#reader = undefined;
    return object;
  }
}

/** The part of a Secret or ConfigMap that is kept. */
function bare({ metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion, creationTimestamp } };
}

export function missingSource({ kind, name }: Source, namespace: string, path: string): Blocked {
  return unresolved(
    REASON.sourceNotFound,
    path,
    `${kind} ${namespace}/${name} does not exist: create it, or name another`,
  );
}

const texts = z.record(z.string(), z.string());
/** As a map, because a plain object also inherits members such as `constructor`. */
const textsIn = (members: unknown) => new Map(Object.entries(texts.safeParse(members).data ?? {}));

export function textIn({ data, binaryData, metadata }: KubeObject, { kind, name, key }: Source, path: string): string {
  const value = textsIn(data).get(key);
  const where = `${kind} ${metadata.namespace}/${name}`;
  if (value === undefined && textsIn(binaryData).has(key)) {
    const message = `${where} has the key ${JSON.stringify(key)} in its binaryData, which is for bytes: put the text into its data`;
    throw unresolved(REASON.sourceInvalid, path, message);
  }
  if (value === undefined) {
    const message = `${where} has no key ${JSON.stringify(key)}: add it there, or name another`;
    throw unresolved(REASON.sourceNotFound, path, message);
  }
  if (kind === 'ConfigMap') return value;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(value, 'base64'));
  } catch {
    const message = `the value of ${JSON.stringify(key)} in ${where} is not UTF-8 text: put text there, or name another key`;
    throw unresolved(REASON.sourceInvalid, path, message);
  }
}

/**
 * Follows the companions of the objects of one kind: also when the cluster gets their kind only later. All that is kept is
 * whose they are.
 */
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import { ListWatch, type ListWatchOptions } from '../kube/list-watch.ts';
import { isOwned, type KnownCompanions } from '../managed/companion.ts';

export interface CompanionWatchOptions extends Pick<ListWatchOptions, 'silenceMs' | 'log' | 'metrics'> {
  type: ResourceType;
  namespaces: readonly string[] | undefined;
  /** Whether there is an object of the kind under this key. */
  isUsed(key: string): boolean;
  /** All that there are have been listed: anything may have happened to them before. */
  onListed(): void;
  /** Somebody else has made, changed or deleted the one of this key. */
  onChange(key: string): void;
}

export class CompanionWatch implements KnownCompanions {
  readonly #known = new Map<string, KubeObject>();
  readonly #isUsed: CompanionWatchOptions['isUsed'];
  readonly #onChange: CompanionWatchOptions['onChange'];
  readonly #parts: readonly ListWatch[];

  constructor(kube: KubeApi, { namespaces, isUsed, onListed, onChange, ...options }: CompanionWatchOptions) {
    this.#isUsed = isUsed;
    this.#onChange = onChange;
    const sink = (namespace: string | undefined): ListWatchOptions['sink'] => ({
      kept: (listed) => (isUsed(keyOf(listed)) ? [bare(listed)] : []),
      listed: (companions) => {
        this.#replace(companions, namespace);
        onListed();
      },
      changed: (companion) => this.#changed(companion),
      deleted: (companion) => this.#deleted(companion),
    });
    const scopes = namespaces === undefined ? [undefined] : [...new Set(namespaces)];
    this.#parts = scopes.map((namespace) => {
      const about = { namespace, sink: sink(namespace), isOptional: true, metadataOnly: true };
      return new ListWatch(kube, { ...options, ...about });
    });
  }

  start(): void {
    for (const part of this.#parts) void part.start();
  }

  /** Resolves when the watch has ended. */
  async stop(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.stop()));
  }

  has(object: KubeObject): boolean {
    const known = this.#known.get(keyOf(object));
    return known !== undefined && isOwned(known, object);
  }

  observe(companion: KubeObject): void {
    this.#known.set(keyOf(companion), bare(companion));
  }

  #replace(companions: readonly KubeObject[], namespace: string | undefined): void {
    for (const [key, { metadata }] of this.#known) {
      if (namespace === undefined || metadata.namespace === namespace) this.#known.delete(key);
    }
    for (const companion of companions) this.#known.set(keyOf(companion), companion);
  }

  #changed(companion: KubeObject): void {
    const key = keyOf(companion);
    if (!this.#isUsed(key)) return;
    const before = this.#known.get(key);
    this.observe(companion);
    if (!before || versionOf(before) !== versionOf(companion)) this.#onChange(key);
  }

  #deleted(companion: KubeObject): void {
    const key = keyOf(companion);
    if (this.#known.get(key)?.metadata.uid !== companion.metadata.uid) return;
    this.#known.delete(key);
    this.#onChange(key);
  }
}

function bare({ metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, ownerReferences } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion, generation, creationTimestamp, ownerReferences } };
}

/** The same as long as only the status changes, which is ExternalDNS's. */
const versionOf = ({ metadata: { uid, generation, ownerReferences = [] } }: KubeObject) =>
  [uid, generation, ...ownerReferences.map((owner) => owner.uid)].join();

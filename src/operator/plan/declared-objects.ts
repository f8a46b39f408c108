/** The objects that the files declare, by their names. */
import { isDeepStrictEqual } from 'node:util';
import { GROUP } from '../contract/names.ts';
import type { Manifest, ManifestDocument } from './manifest-files.ts';

export interface ObjectName {
  kind: string;
  namespace: string;
  name: string;
}

export class DeclaredObjects {
  readonly #manifests = new Map<string, Manifest[]>();
  readonly #namespace: string;

  /** @param namespace of the documents that name none, or an empty one */
  constructor(manifests: readonly Manifest[], namespace: string) {
    this.#namespace = namespace;
    for (const manifest of manifests) {
      const key = keyOf(this.nameOf(manifest.document), groupOf(manifest.document));
      this.#manifests.set(key, [...(this.#manifests.get(key) ?? []), manifest]);
    }
  }

  nameOf({ kind, metadata }: ManifestDocument): ObjectName {
    return { kind, namespace: metadata.namespace || this.#namespace, name: metadata.name };
  }

  /** Each object once, in the order of the files. */
  all(): ManifestDocument[] {
    return [...this.#manifests.values()].flatMap((each) => each.at(-1)?.document ?? []);
  }

  /** What the files say about the object, the last if they say several things; undefined if none does. */
  document(name: ObjectName, group: string = GROUP): ManifestDocument | undefined {
    return this.#manifests.get(keyOf(name, group))?.at(-1)?.document;
  }

  /** Where the files contradict each other about the object; undefined if they do not. */
  contradiction(name: ObjectName, group: string = GROUP): string | undefined {
    const [first, ...others] = this.#manifests.get(keyOf(name, group)) ?? [];
    if (!first || others.every((other) => isSame(first.document, other.document))) return undefined;
    return `declared differently in ${[first, ...others].map(({ place }) => place).join(', and in ')}`;
  }
}

/** Kinds of several groups may have one name. */
const keyOf = ({ kind, namespace, name }: ObjectName, group: string) => `${group}/${kind}/${namespace}/${name}`;

/** The core group is the empty string. */
export const groupOf = ({ apiVersion }: ManifestDocument) => apiVersion.replace(/\/?[^/]*$/, '');

/** Compares two documents of one object, of which only one may name the namespace. */
const isSame = (one: ManifestDocument, other: ManifestDocument) =>
  isDeepStrictEqual(withoutNamespace(one), withoutNamespace(other));

function withoutNamespace({ metadata, ...content }: ManifestDocument) {
  const { namespace: _, ...own } = metadata;
  return { ...content, metadata: own };
}

/** The cluster as it would be with the files applied. It is only read. */
import { GROUP, VERSION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { REFERENCE_GRANTS } from '../managed/inputs/grants.ts';
import type { Source } from '../managed/inputs/input.ts';
import { textIn } from '../managed/inputs/source-cache.ts';
import { unresolved } from '../managed/inputs/unresolved.ts';
import type { AnyKind } from '../managed/kind.ts';
import { type DeclaredObjects, groupOf, type ObjectName } from './declared-objects.ts';
import type { ManifestDocument } from './manifest-files.ts';

const CORE: Readonly<Record<Source['kind'], ResourceType>> = {
  Secret: { group: '', version: 'v1', plural: 'secrets' },
  ConfigMap: { group: '', version: 'v1', plural: 'configmaps' },
};

export class DesiredCluster {
  readonly #kube: Pick<KubeApi, 'find' | 'list'>;
  readonly #declared: DeclaredObjects;
  /** One view of every object, and one call. */
  readonly #found = new Map<string, Promise<KubeObject | undefined>>();
  #grants: Promise<readonly KubeObject[]> | undefined;

  constructor(kube: Pick<KubeApi, 'find' | 'list'>, declared: DeclaredObjects) {
    this.#kube = kube;
    this.#declared = declared;
  }

  /** The object as it is. @throws KubeError, KubeUnreachableError */
  find({ plural }: Pick<AnyKind, 'plural'>, { name, namespace }: ObjectName): Promise<KubeObject | undefined> {
    return this.#find({ group: GROUP, version: VERSION, plural }, name, namespace);
  }

  #find(type: ResourceType, name: string, namespace: string): Promise<KubeObject | undefined> {
    const key = `${type.group}/${type.plural}/${namespace}/${name}`;
    const known = this.#found.get(key) ?? this.#kube.find(type, name, namespace);
    this.#found.set(key, known);
    return known;
  }

  /** With the annotations that the file does not name, as `kubectl apply` leaves them, and with status. */
  async applied(declared: Pick<AnyKind, 'plural'>, document: ManifestDocument): Promise<KubeObject> {
    const name = this.#declared.nameOf(document);
    return merged(document, await this.find(declared, name), name.namespace);
  }

  /** Those of the kind that there are, with what the files say about them. @throws KubeError, KubeUnreachableError */
  async existing({ kind, plural }: Pick<AnyKind, 'kind' | 'plural'>): Promise<readonly KubeObject[]> {
    const { items } = await this.#kube.list({ group: GROUP, version: VERSION, plural });
    return items.map((object) => {
      const { namespace = '', name } = object.metadata;
      const document = this.#declared.document({ kind, namespace, name });
      return document ? merged(document, object, namespace) : object;
    });
  }

  /** Whether the files have a namespace of that name. */
  createsNamespace(name: string): boolean {
    return this.#declared
      .all()
      .some(({ apiVersion, kind, metadata }) => apiVersion === 'v1' && kind === 'Namespace' && metadata.name === name);
  }

  /** Reads Secrets and ConfigMaps of the namespace. @throws (the function) Blocked if there is no such text */
  reader(namespace: string) {
    return async (source: Source, path: string) => {
      const { kind, name } = source;
      const contradiction = this.#declared.contradiction({ kind, namespace, name }, CORE[kind].group);
      if (contradiction !== undefined)
        throw unresolved(REASON.sourceInvalid, path, `${kind} ${namespace}/${name} is ${contradiction}`);
      const document = this.#declared.document({ kind, namespace, name }, CORE[kind].group);
      const existing = document ? undefined : await this.#find(CORE[kind], name, namespace);
      const object = document ? merged(withData(document), undefined, namespace) : existing;
      if (!object) throw unresolved(REASON.sourceNotFound, path, `${kind} ${namespace}/${name} does not exist`);
      return { text: textIn(object, source, path), resourceVersion: object.metadata.resourceVersion };
    };
  }

  /** The ReferenceGrants of files and cluster. */
  grants(): Promise<readonly KubeObject[]> {
    this.#grants ??= this.#readGrants();
    return this.#grants;
  }

  async #readGrants(): Promise<readonly KubeObject[]> {
    const own = this.#declared
      .all()
      .filter((each) => each.kind === 'ReferenceGrant' && groupOf(each) === REFERENCE_GRANTS.group)
      .map((each) => merged(each, undefined, this.#declared.nameOf(each).namespace));
    try {
      const { items } = await this.#kube.list(REFERENCE_GRANTS);
      const isReplaced = ({ metadata: { namespace = '', name } }: KubeObject) =>
        this.#declared.document({ kind: 'ReferenceGrant', namespace, name }, REFERENCE_GRANTS.group) !== undefined;
      return [...own, ...items.filter((each) => !isReplaced(each))];
    } catch (error) {
      // A cluster without the Gateway API.
      if (error instanceof KubeError && error.isNotFound) return own;
      throw error;
    }
  }
}

/** Kubernetes gives these when it creates an object. */
const NOT_CREATED = { uid: '', resourceVersion: '0', creationTimestamp: '' };

/** As `kubectl apply` makes it of a file that has all of the spec. */
function merged(document: ManifestDocument, existing: KubeObject | undefined, namespace: string): KubeObject {
  const { metadata, ...content } = document;
  const { annotations, labels, name, ...own } = metadata;
  return {
    ...content,
    status: existing?.status,
    metadata: {
      ...own,
      ...(existing?.metadata ?? NOT_CREATED),
      name,
      namespace,
      labels: { ...existing?.metadata.labels, ...labels },
      annotations: { ...existing?.metadata.annotations, ...annotations },
    },
  };
}

/** `stringData` as the API server stores it. */
function withData(document: ManifestDocument): ManifestDocument {
  const { data, stringData } = document;
  if (typeof stringData !== 'object' || stringData === null) return document;
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString('base64'),
  ]);
  return { ...document, data: { ...(typeof data === 'object' ? data : {}), ...Object.fromEntries(encoded) } };
}

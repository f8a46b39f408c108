/** The cluster as it would be with the files applied. Never writes to it. */
import { z } from 'zod';
import { GROUP, VERSION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import { KubeError } from '../kube/kube-error.ts';
import { type KubeObject, keyOf, kubeObject } from '../kube/kube-object.ts';
import { Blocked } from '../managed/declaration/external.ts';
import { type Source, unresolved } from '../managed/declaration/input.ts';
import type { AnyKind } from '../managed/declaration/kind.ts';
import { REFERENCE_GRANTS } from '../managed/knowledge/reference-grants.ts';
import { missingSource, textIn } from '../managed/knowledge/source-cache.ts';
import { type DeclaredObjects, groupOf, type ObjectName } from './declared-objects.ts';
import { appliedBefore, applyPatch, NEVER_APPLIED, patched } from './kubectl-apply.ts';
import type { ManifestDocument } from './manifest-files.ts';

const CORE: Readonly<Record<Source['kind'], ResourceType>> = {
  Secret: { group: '', version: 'v1', plural: 'secrets' },
  ConfigMap: { group: '', version: 'v1', plural: 'configmaps' },
};

export class DesiredCluster {
  readonly #kube: Pick<KubeApi, 'find' | 'list'>;
  readonly #declared: DeclaredObjects;
  /** Each object is read once, so that the whole plan sees one version of it. */
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

  /** The Secret as it is. @throws KubeError, KubeUnreachableError */
  findSecret({ name, namespace }: Pick<ObjectName, 'namespace' | 'name'>): Promise<KubeObject | undefined> {
    return this.#find(CORE.Secret, name, namespace);
  }

  /** Whether the files have a Secret of that name. */
  declaresSecret(name: Pick<ObjectName, 'namespace' | 'name'>): boolean {
    return this.#declared.document({ ...name, kind: 'Secret' }, CORE.Secret.group) !== undefined;
  }

  #find(type: ResourceType, name: string, namespace: string): Promise<KubeObject | undefined> {
    const key = `${type.group}/${type.plural}/${namespace}/${name}`;
    const known = this.#found.get(key) ?? this.#kube.find(type, name, namespace);
    this.#found.set(key, known);
    return known;
  }

  /** As the file makes it. @throws Blocked for what is no object, KubeError, KubeUnreachableError */
  async applied(declared: Pick<AnyKind, 'plural'>, document: ManifestDocument): Promise<Application> {
    const name = this.#declared.nameOf(document);
    return applicationOf(document, await this.find(declared, name), name.namespace);
  }

  /** The existing objects of the kind, with the files applied to them. @throws KubeError, KubeUnreachableError */
  async existing({ kind, plural }: Pick<AnyKind, 'kind' | 'plural'>): Promise<readonly KubeObject[]> {
    const { items } = await this.#kube.list({ group: GROUP, version: VERSION, plural });
    return items.map((object) => {
      const { namespace = '', name } = object.metadata;
      const document = this.#declared.document({ kind, namespace, name });
      return document ? appliedIfObject(document, object, namespace) : object;
    });
  }

  /** The same, and the objects that exist only in the files. */
  async all(kind: Pick<AnyKind, 'kind' | 'plural'>): Promise<readonly KubeObject[]> {
    const documents = this.#declared.all().filter((each) => each.kind === kind.kind && groupOf(each) === GROUP);
    const [existing, declared] = await Promise.all([
      this.existing(kind),
      Promise.all(documents.map((each) => this.#appliedIfObject(kind, each))),
    ]);
    return [...existing, ...declared.filter((object) => object !== undefined).filter(isNew)];
  }

  async #appliedIfObject(kind: Pick<AnyKind, 'plural'>, document: ManifestDocument): Promise<KubeObject | undefined> {
    const name = this.#declared.nameOf(document);
    return appliedIfObject(document, await this.find(kind, name), name.namespace);
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
      // Ask the cluster only for keys that the files lack.
      const existing = hasText(document, source) ? undefined : await this.#find(CORE[kind], name, namespace);
      const object = document ? applicationOf(withData(document), existing, namespace).object : existing;
      if (!object) throw missingSource(source, namespace, path);
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
      .flatMap((each) => appliedIfObject(each, undefined, this.#declared.nameOf(each).namespace) ?? []);
    const names = new Set(own.map(keyOf));
    try {
      const { items } = await this.#kube.list(REFERENCE_GRANTS);
      return [...own, ...items.filter((each) => !names.has(keyOf(each)))];
    } catch (error) {
      // A cluster without the Gateway API.
      if (error instanceof KubeError && error.isNotFound) return own;
      throw error;
    }
  }
}

/** Kubernetes gives these when it creates an object. */
export const NOT_CREATED = { uid: '', resourceVersion: '0', creationTimestamp: '' };

/** Whether the cluster has no such object yet. */
export const isNew = ({ metadata }: KubeObject) => metadata.uid === NOT_CREATED.uid;

/** How a file is applied to an object. */
export interface Application {
  /** As it will be, unless the API server makes something else of it. */
  readonly object: KubeObject;
  /** What is sent. */
  readonly body: unknown;
  /** The field manager of a server-side apply; undefined for a client-side merge. */
  readonly manager: string | undefined;
}

function applicationOf(
  { status: _, ...document }: ManifestDocument,
  existing: KubeObject | undefined,
  namespace: string,
): Application {
  // Even if the file has no annotations, kubectl removes those that it applied before.
  const metadata = { ...document.metadata, namespace, annotations: document.metadata.annotations ?? {} };
  const file = { ...document, metadata };
  const before = existing ? appliedBefore(existing) : NEVER_APPLIED;
  const patch = applyPatch(file, before);
  const { uid, resourceVersion, creationTimestamp } = existing?.metadata ?? NOT_CREATED;
  const made = patched(patched(existing, patch), { metadata: { uid, resourceVersion, creationTimestamp } });
  const object = kubeObject.safeParse({ ...made, status: existing?.status });
  if (object.error) throw new Blocked(REASON.rejected, z.prettifyError(object.error));
  const { manager } = before;
  return { object: object.data, body: existing && manager === undefined ? patch : file, manager };
}

/** The object with the file applied, or unchanged if the file is not a valid object. */
function appliedIfObject<Existing extends KubeObject | undefined>(
  document: ManifestDocument,
  existing: Existing,
  namespace: string,
): KubeObject | Existing {
  try {
    return applicationOf(document, existing, namespace).object;
  } catch (error) {
    if (error instanceof Blocked) return existing;
    throw error;
  }
}

function hasText(document: ManifestDocument | undefined, { key }: Source): boolean {
  return [document?.data, document?.stringData].some((texts) => Object.hasOwn(Object(texts), key));
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

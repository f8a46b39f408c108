/** The namespace of a stage, and what users do in it: they declare objects, change and delete them. Only for test files. */
import type { DataObject } from '../../dev/fixtures/source-texts.ts';
import { type StoryRow, storyRow } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { isNotFound } from '../../src/client/errors.ts';
import { API_VERSION, FINALIZER, SECRET_TYPE } from '../../src/operator/contract/names.ts';
import type { KubeApi, ResourceType } from '../../src/operator/kube/kube-api.ts';
import { KubeError } from '../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { SECRETS } from '../../src/operator/managed/secrets/secret-cache.ts';
import { type Declared, type Named, typeOf } from './declared.ts';

const DATA_TYPES: Readonly<Record<DataObject['kind'], ResourceType>> = {
  Secret: SECRETS,
  ConfigMap: { group: '', version: 'v1', plural: 'configmaps' },
};

export class UserNamespace {
  readonly namespace: string;
  readonly kube: KubeApi;
  /** What users have declared. */
  readonly declared = new Map<string, Declared>();
  /** Kinds of which objects may exist. */
  readonly #kinds = new Set<StoryRow>();

  constructor(namespace: string, kube: KubeApi) {
    this.namespace = namespace;
    this.kube = kube;
  }

  get kinds(): readonly StoryRow[] {
    return [...this.#kinds];
  }

  async apply(declared: Declared): Promise<void> {
    const { kind, name, spec } = declared;
    const type = typeOf(kind);
    for (const object of 'objects' in declared ? declared.objects : []) await this.#keep(object);
    const body = { apiVersion: API_VERSION, kind, metadata: { name }, spec };
    this.declared.set(`${kind}/${name}`, declared);
    this.#kinds.add(storyRow(kind));
    await retryOnConflict(async () => {
      const existing = await this.kube.find(type, name, this.namespace);
      if (!existing) return this.kube.create(type, body, this.namespace);
      return this.kube.replace(type, name, { ...existing, spec }, this.namespace);
    });
  }

  async #keep(object: DataObject): Promise<void> {
    const type = DATA_TYPES[object.kind];
    const { name } = object.metadata;
    const existing = await this.kube.find(type, name, this.namespace);
    if (existing)
      await this.kube.replace(type, name, { ...existing, ...object, metadata: existing.metadata }, this.namespace);
    else await this.kube.create(type, object, this.namespace);
  }

  /** Asks for the deletion, as `kubectl delete --wait=false`. */
  async remove({ kind, name }: Named): Promise<void> {
    this.declared.delete(`${kind}/${name}`);
    await ignoreNotFound(this.kube.delete(typeOf(kind), name, this.namespace));
  }

  async removeAll(): Promise<void> {
    for (const declared of [...this.declared.values()]) await this.remove(declared);
  }

  /** An inspection has shown that nothing is left: inspect no kind until something is declared again. */
  forgetKinds(): void {
    this.#kinds.clear();
  }

  async annotate({ kind, name }: Named, annotations: Record<string, string | null>) {
    await this.kube.patch(typeOf(kind), name, { metadata: { annotations } }, this.namespace);
  }

  async deleteSecret(name: string): Promise<void> {
    await ignoreNotFound(this.kube.delete(SECRETS, name, this.namespace));
  }

  find({ kind, name }: Named): Promise<KubeObject | undefined> {
    return this.kube.find(typeOf(kind), name, this.namespace);
  }

  /** @throws when there is none */
  async token(secret: string, key = 'token'): Promise<string> {
    const { data } = await this.kube.get(SECRETS, secret, this.namespace);
    const encoded = typeof data === 'object' && data !== null ? Object.entries(data).find(([k]) => k === key)?.[1] : '';
    return Buffer.from(String(encoded), 'base64').toString();
  }

  /** Removes everything by force, so that what one test left does not disturb the next. */
  async sweep(): Promise<void> {
    this.declared.clear();
    for (const { type } of this.#kinds) {
      for (const { metadata } of (await this.kube.list(type, { namespace: this.namespace })).items) {
        await ignoreNotFound(this.kube.delete(type, metadata.name, this.namespace));
        const others = metadata.finalizers?.filter((name) => name !== FINALIZER) ?? [];
        const patch = this.kube.patch(type, metadata.name, { metadata: { finalizers: others } }, this.namespace);
        await ignoreNotFound(patch);
      }
    }
    await this.sweepSecrets();
  }

  /** Does what a garbage collector, if there is one, would do later. */
  async sweepSecrets(): Promise<void> {
    for (const { metadata, type } of (await this.kube.list(SECRETS, { namespace: this.namespace })).items) {
      if (Object.values<unknown>(SECRET_TYPE).includes(type))
        await ignoreNotFound(this.kube.delete(SECRETS, metadata.name, this.namespace));
    }
  }
}

export async function ignoreNotFound(promise: Promise<unknown>): Promise<void> {
  await promise.catch((error) => {
    if (!(error instanceof KubeError && error.isNotFound) && !isNotFound(error)) throw error;
  });
}

async function retryOnConflict(attempt: () => Promise<unknown>): Promise<void> {
  const isFatal = (error: unknown) => !(error instanceof KubeError && error.isConflict);
  await waitFor('a write without a conflict', async () => (await attempt()) !== undefined, { isFatal });
}

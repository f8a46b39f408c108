/** The verbs of the Kubernetes API, on objects of any kind. */
import type { KubeConfig } from '@kubernetes/client-node';
import { z } from 'zod';
import { describeBody, KubeError, KubeUnreachableError, kubeErrorFrom } from './kube-error.ts';
import { type KubeObject, kubeObject, objectMeta } from './kube-object.ts';
import { KubeTransport, type KubeTransportOptions, type Method, type SendOptions } from './kube-transport.ts';
import { linesOf, readWatchEvent, type WatchEvent } from './watch-stream.ts';

/** Group, version and plural of a resource; the core group is the empty string. */
export interface ResourceType {
  group: string;
  version: string;
  plural: string;
}

export interface ListOptions {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  /** Only the object of this name. */
  name?: string | undefined;
  limit?: number;
  continueToken?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Without spec, status and data. */
  metadataOnly?: boolean | undefined;
}

export interface ObjectList {
  items: KubeObject[];
  resourceVersion: string;
  continueToken: string | undefined;
}

export interface WatchOptions {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  resourceVersion: string;
  /** The server ends the watch after this many seconds. */
  timeoutSeconds: number;
  signal: AbortSignal;
  /** Without spec, status and data. */
  metadataOnly?: boolean | undefined;
}

const listResponse = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string(), continue: z.string().optional() }),
  // Null for an empty list of metadata.
  items: z.array(z.unknown()).nullable(),
});

/** A dry run returns an object without a resource version. */
const triedObject = kubeObject.extend({ metadata: objectMeta.extend({ resourceVersion: z.string().default('0') }) });

export class KubeApi {
  readonly #transport: KubeTransport;

  constructor(config: KubeConfig, options: KubeTransportOptions) {
    this.#transport = new KubeTransport(config, options);
  }

  /** One page of a list. @throws KubeError, KubeUnreachableError */
  async list(type: ResourceType, { name, ...options }: ListOptions = {}): Promise<ObjectList> {
    const query = new URLSearchParams();
    if (options.limit) query.set('limit', String(options.limit));
    if (options.continueToken) query.set('continue', options.continueToken);
    if (options.labelSelector) query.set('labelSelector', options.labelSelector);
    if (name) query.set('fieldSelector', `metadata.name=${name}`);
    const { signal, metadataOnly } = options;
    const page = listResponse.parse(
      await this.#call('GET', pathOf(type, options), { query, signal, ...acceptOf('List', metadataOnly) }),
    );
    return {
      items: (page.items ?? []).map((item) => kubeObject.parse(item)),
      resourceVersion: page.metadata.resourceVersion,
      continueToken: page.metadata.continue || undefined,
    };
  }

  async get(type: ResourceType, name: string, namespace?: string): Promise<KubeObject> {
    return kubeObject.parse(await this.#call('GET', pathOf(type, { namespace, name })));
  }

  /** The object, or undefined if it does not exist. */
  async find(type: ResourceType, name: string, namespace?: string): Promise<KubeObject | undefined> {
    try {
      return await this.get(type, name, namespace);
    } catch (error) {
      if (error instanceof KubeError && error.isNotFound) return undefined;
      throw error;
    }
  }

  async create(type: ResourceType, body: unknown, namespace?: string): Promise<KubeObject> {
    return kubeObject.parse(await this.#call('POST', pathOf(type, { namespace }), { body }));
  }

  /** A dry run of a create. Returns the object that the API server would store. */
  async tryCreate(type: ResourceType, body: unknown, namespace?: string): Promise<KubeObject> {
    return triedObject.parse(await this.#call('POST', pathOf(type, { namespace }), { query: dryRun(), body }));
  }

  /** A dry run of a JSON merge patch. */
  async tryPatch(type: ResourceType, name: string, body: unknown, namespace?: string): Promise<KubeObject> {
    const options = { query: dryRun(), body, contentType: MERGE_PATCH };
    return triedObject.parse(await this.#call('PATCH', pathOf(type, { namespace, name }), options));
  }

  /**
   * A dry run of a server-side apply.
   * @param by.isForced whether to take over fields of other managers instead of failing with a conflict
   */
  async tryApply(
    type: ResourceType,
    name: string,
    body: unknown,
    namespace: string | undefined,
    by: { fieldManager: string; isForced: boolean },
  ): Promise<KubeObject> {
    const query = dryRun();
    query.set('fieldManager', by.fieldManager);
    query.set('force', String(by.isForced));
    const options = { query, body, contentType: 'application/apply-patch+yaml' };
    return triedObject.parse(await this.#call('PATCH', pathOf(type, { namespace, name }), options));
  }

  /** Replaces the whole object, or its status alone; include `resourceVersion` so as not to overwrite a newer one. */
  async replace(
    type: ResourceType,
    name: string,
    body: unknown,
    namespace?: string,
    subresource?: 'status',
  ): Promise<KubeObject> {
    return kubeObject.parse(await this.#call('PUT', pathOf(type, { namespace, name, subresource }), { body }));
  }

  /** JSON merge patch (RFC 7386); with `metadata.resourceVersion` in it, it fails with 409 when the object is newer. */
  async patch(type: ResourceType, name: string, body: unknown, namespace?: string): Promise<KubeObject> {
    const options = { body, contentType: MERGE_PATCH };
    return kubeObject.parse(await this.#call('PATCH', pathOf(type, { namespace, name }), options));
  }

  async delete(
    type: ResourceType,
    name: string,
    namespace?: string,
    preconditions?: { uid?: string; resourceVersion?: string },
  ): Promise<void> {
    const body = preconditions ? { kind: 'DeleteOptions', apiVersion: 'v1', preconditions } : undefined;
    await this.#call('DELETE', pathOf(type, { namespace, name }), { body });
  }

  /**
   * The watch events after `resourceVersion`, until the server closes the watch (the generator returns) or it fails.
   * @throws KubeError (code 410 when the version is too old to resume from), KubeUnreachableError
   */
  async *watch(type: ResourceType, options: WatchOptions): AsyncGenerator<WatchEvent, void, undefined> {
    const query = new URLSearchParams({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: options.resourceVersion,
      timeoutSeconds: String(options.timeoutSeconds),
    });
    if (options.labelSelector) query.set('labelSelector', options.labelSelector);
    const path = pathOf(type, options);
    const { signal, metadataOnly } = options;
    const accept = acceptOf('', metadataOnly);
    const { statusCode, headers, text, body } = await this.#transport.watch(path, { query, signal, ...accept });
    if (!body) throw kubeErrorFrom(statusCode, text, headers);
    try {
      for await (const line of linesOf(body)) yield readWatchEvent(line);
    } catch (error) {
      if (options.signal.aborted || error instanceof KubeError || error instanceof KubeUnreachableError) throw error;
      throw new KubeUnreachableError(`the watch of ${type.plural} broke off`, { cause: error });
    }
  }

  /** Aborts every request and watch in progress. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  async #call(method: Method, path: string, options: SendOptions = {}): Promise<unknown> {
    const { statusCode, headers, text } = await this.#transport.call(method, path, options);
    if (statusCode >= 300) throw kubeErrorFrom(statusCode, text, headers);
    try {
      return JSON.parse(text);
    } catch {
      // Without the cause, which quotes the body: that may be a Secret.
      throw new KubeUnreachableError(`${method} ${path}: answered ${describeBody(statusCode, text, headers)}`);
    }
  }
}

const MERGE_PATCH = 'application/merge-patch+json';

/** Rejects unknown fields, like kubectl. https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run */
const dryRun = () => new URLSearchParams({ dryRun: 'All', fieldValidation: 'Strict' });

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches */
function acceptOf(list: 'List' | '', metadataOnly: boolean | undefined): Pick<SendOptions, 'accept'> {
  return metadataOnly ? { accept: `application/json;as=PartialObjectMetadata${list};g=meta.k8s.io;v=v1` } : {};
}

function pathOf(
  type: ResourceType,
  at: { namespace?: string | undefined; name?: string; subresource?: string | undefined },
): string {
  const parts = type.group ? ['apis', type.group, type.version] : ['api', type.version];
  if (at.namespace) parts.push('namespaces', at.namespace);
  parts.push(type.plural);
  if (at.name) parts.push(at.name);
  if (at.subresource) parts.push(at.subresource);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

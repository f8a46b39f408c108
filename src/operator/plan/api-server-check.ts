/**
 * Has the API server check what it would be given, without writing it: schema, CEL rules, also those about what may
 * change, and admission.
 */
import { GROUP, VERSION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import type { KubeApi } from '../kube/kube-api.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { Blocked } from '../managed/external.ts';
import type { AnyKind } from '../managed/kind.ts';

export interface ApiServerCheckOptions {
  kube: Pick<KubeApi, 'tryCreate' | 'tryReplace'>;
  /** Whether the files create the namespace. */
  createsNamespace(name: string): boolean;
  /** Receives what could not be checked, and why. */
  note(text: string): void;
}

export class ApiServerCheck {
  readonly #options: ApiServerCheckOptions;

  constructor(options: ApiServerCheckOptions) {
    this.#options = options;
  }

  /** @throws Blocked when the API server would refuse the object; KubeError when it cannot tell; KubeUnreachableError */
  async mustAccept({ kind, plural }: Pick<AnyKind, 'kind' | 'plural'>, object: KubeObject): Promise<void> {
    const { kube, note } = this.#options;
    const { name, namespace = '' } = object.metadata;
    const type = { group: GROUP, version: VERSION, plural };
    try {
      if (object.metadata.uid === '') await kube.tryCreate(type, asNew(object), namespace);
      else await kube.tryReplace(type, name, object, namespace);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      // Somebody else has just written it, or wants a moment of rest: no reason to refuse it.
      if (error.isConflict || error.isThrottled) return;
      if (error.isForbidden && LACKS_RIGHT.test(error.message)) {
        note(`${kind} objects were not checked against the rules of the cluster: ${error.message}`);
        return;
      }
      if (error.isNotFound && NO_NAMESPACE.test(error.message)) {
        if (this.#options.createsNamespace(namespace)) {
          const why = `namespace ${namespace} does not exist yet`;
          note(`${kind} objects of it were not checked against the rules of the cluster: ${why}`);
          return;
        }
        throw new Blocked(REASON.rejected, `namespace ${namespace} does not exist`);
      }
      if (error.isNotFound)
        throw new Blocked(REASON.rejected, `the cluster has no kind ${kind}: install its CustomResourceDefinition`);
      if (error.code < 400 || error.code >= 500 || error.code === 401) throw error;
      throw new Blocked(REASON.rejected, error.message.replace(/^\S+ "[^"]*" is invalid: /, ''));
    }
  }
}

/** As RBAC says it; what a policy refuses reads otherwise. */
const LACKS_RIGHT = / cannot (?:create|update) resource /;

const NO_NAMESPACE = /^namespaces ".*" not found$/;

function asNew({ status: _, metadata, ...object }: KubeObject) {
  const { uid: _uid, resourceVersion: _version, creationTimestamp: _age, ...own } = metadata;
  return { ...object, metadata: own };
}

/**
 * Has the API server check what it would be given, without writing it: schema, CEL rules, also those about what may
 * change, and admission.
 */
import { GROUP, VERSION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { Blocked } from '../managed/declaration/external.ts';
import type { AnyKind } from '../managed/declaration/kind.ts';
import { type Application, isNew } from './desired-cluster.ts';
import { KUBECTL } from './kubectl-apply.ts';

export interface ApiServerCheckOptions {
  kube: Pick<KubeApi, 'tryCreate' | 'tryPatch' | 'tryApply'>;
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

  /**
   * The object as the API server would store it, with its defaults and what admission makes of it; as far as is known if
   * it cannot be asked.
   * @throws Blocked when the API server would refuse it; KubeError when it cannot tell; KubeUnreachableError
   */
  async accepted({ kind, plural }: Pick<AnyKind, 'kind' | 'plural'>, application: Application): Promise<KubeObject> {
    const { note } = this.#options;
    const { object } = application;
    const { namespace = '' } = object.metadata;
    try {
      return await this.#try({ group: GROUP, version: VERSION, plural }, application);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      // It was created meanwhile, or the server is throttling; neither is a reason to refuse it.
      if ((error.isConflict && isNew(object)) || error.isThrottled) return object;
      if (error.isForbidden && LACKS_RIGHT.test(error.message)) {
        note(`${kind} objects were not checked against the rules of the cluster: ${error.message}`);
        return object;
      }
      if (error.isNotFound && NO_NAMESPACE.test(error.message)) {
        if (this.#options.createsNamespace(namespace)) {
          const why = `namespace ${namespace} does not exist yet`;
          note(`${kind} objects of it were not checked against the rules of the cluster: ${why}`);
          return object;
        }
        throw new Blocked(REASON.rejected, `namespace ${namespace} does not exist`);
      }
      if (error.isNotFound)
        throw new Blocked(REASON.rejected, `the cluster has no kind ${kind}: install its CustomResourceDefinition`);
      if (error.code < 400 || error.code >= 500 || error.code === 401) throw error;
      // Further lines are advice for users of kubectl.
      const [message = ''] = error.message.split('\n');
      throw new Blocked(REASON.rejected, message.replace(/^\S+ "[^"]*" is invalid: /, ''));
    }
  }

  async #try(type: ResourceType, { object, body, manager }: Application): Promise<KubeObject> {
    const { kube } = this.#options;
    const { name, namespace = '', uid, resourceVersion, creationTimestamp } = object.metadata;
    if (!isNew(object)) {
      if (manager === undefined) return kube.tryPatch(type, name, body, namespace);
      // A controller forces its apply; kubectl gets a conflict unless it is told to force.
      return kube.tryApply(type, name, body, namespace, { fieldManager: manager, isForced: manager !== KUBECTL });
    }
    const made = await kube.tryCreate(type, body, namespace);
    // A dry run makes up a UID that no object will have.
    return { ...made, metadata: { ...made.metadata, uid, resourceVersion, creationTimestamp } };
  }
}

/** The wording of RBAC, which differs from that of an admission policy. */
const LACKS_RIGHT = / cannot (?:create|patch) resource /;

const NO_NAMESPACE = /^namespaces ".*" not found$/;

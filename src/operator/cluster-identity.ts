/**
 * What tells this cluster from all others that use the same management API: the UID of the namespace kube-system, which no
 * one deletes, or a name that the administrator gives.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CannotStart } from '../settings/cannot-start.ts';
import type { KubeApi, ResourceType } from './kube/kube-api.ts';
import { KubeError } from './kube/kube-error.ts';
import type { Cluster } from './managed/identity/manager.ts';

const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces' };
const SYSTEM = 'kube-system';
/** The pause before the next attempt while the API server does not answer. */
const RETRY_MS = 2_000;

export interface ClusterIdentityOptions {
  /** Undefined: the UID of kube-system. */
  given: string | undefined;
  takesOverFrom: readonly string[];
  log: Logger;
}

export class ClusterIdentity implements Cluster {
  readonly takesOverFrom: readonly string[];
  readonly #kube: Pick<KubeApi, 'get'>;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  #id: string | undefined;

  constructor(kube: Pick<KubeApi, 'get'>, { given, takesOverFrom, log }: ClusterIdentityOptions) {
    this.#kube = kube;
    this.#id = given;
    this.takesOverFrom = takesOverFrom;
    this.#log = log;
  }

  get id(): string {
    if (this.#id === undefined) throw new Error('the cluster is not known yet');
    return this.#id;
  }

  /** Waits until the id is known; false if stopped first. @throws CannotStart if it may not be read */
  async learn(): Promise<boolean> {
    const { signal } = this.#stop;
    while (this.#id === undefined && !signal.aborted) {
      try {
        this.#id = (await this.#kube.get(NAMESPACES, SYSTEM)).metadata.uid;
      } catch (error) {
        if (error instanceof KubeError && (error.isForbidden || error.isNotFound)) throw unreadable(error);
        this.#log.warn({ err: error }, 'cannot read yet which cluster this is; will retry');
        await delay(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
    return this.#id !== undefined;
  }

  stop(): void {
    this.#stop.abort();
  }
}

function unreadable(error: KubeError): CannotStart {
  const what = error.isNotFound ? `there is no namespace ${SYSTEM}` : `not allowed to read the namespace ${SYSTEM}`;
  const remedy = `grant get on it (the chart does), or set --cluster-id (CLUSTER_ID) to a name that no other cluster has`;
  return new CannotStart(`${what}, whose UID tells this cluster from others: ${remedy}`, { cause: error });
}

/** Limits the concurrent calls of a plan to one server, and starts none after the plan has ended. */
import { ApiBudget } from '../controller/api-budget.ts';
import type { KubeApi } from '../kube/kube-api.ts';

/** Leaves the server capacity for other clients. */
export const CALLS_AT_A_TIME = 8;

export class BoundedCalls {
  readonly #budget = new ApiBudget(CALLS_AT_A_TIME);
  readonly #ended = new AbortController();

  readonly admit = <T>(call: () => Promise<T>): Promise<T> =>
    this.#budget.admit(() => {
      this.#ended.signal.throwIfAborted();
      return call();
    });

  /** Without this, a failed plan would keep calling for its remaining objects. */
  end(): void {
    this.#ended.abort();
    this.#budget.close();
  }
}

/** The calls that a plan makes. */
export function bounded(
  { admit }: BoundedCalls,
  kube: KubeApi,
): Pick<KubeApi, 'find' | 'list' | 'tryCreate' | 'tryPatch' | 'tryApply'> {
  return {
    find: (...call) => admit(() => kube.find(...call)),
    list: (...call) => admit(() => kube.list(...call)),
    tryCreate: (...call) => admit(() => kube.tryCreate(...call)),
    tryPatch: (...call) => admit(() => kube.tryPatch(...call)),
    tryApply: (...call) => admit(() => kube.tryApply(...call)),
  };
}

/** The calls of a plan to one server: some at a time, and none that has yet to begin once the plan has ended. */
import { ApiBudget } from '../controller/api-budget.ts';
import type { KubeApi } from '../kube/kube-api.ts';

/** The server has others to serve. */
export const CALLS_AT_A_TIME = 8;

export class BoundedCalls {
  readonly #budget = new ApiBudget(CALLS_AT_A_TIME);
  readonly #ended = new AbortController();

  readonly admit = <T>(call: () => Promise<T>): Promise<T> =>
    this.#budget.admit(() => {
      this.#ended.signal.throwIfAborted();
      return call();
    });

  /** Otherwise a failed plan would go on to ask about the rest of its objects. */
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

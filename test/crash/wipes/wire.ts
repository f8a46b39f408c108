/** Passes on the calls of one reconcile, with the faults that a test asks for. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { ApiUnreachableError } from '../../../src/client/errors.ts';
import { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import { KubeUnreachableError } from '../../../src/operator/kube/kube-error.ts';

export const FATES = [
  'dies before it',
  'dies after it',
  'dies, and it arrives late',
  'gets no answer',
  'gets no answer, and it arrives late',
  'gets its answer, and it arrives again',
] as const;

/** What happens to the operator at one of its calls. */
export interface Fault {
  /** The index of the call in the reconcile, from 0. */
  readonly at: number;
  readonly fate: (typeof FATES)[number];
}

class Killed extends Error {
  override readonly name = 'Killed';
}

type Call = () => Promise<unknown>;

export class Wire {
  /** Whether the operator was killed: none of its later calls has an effect. */
  isDead = false;
  readonly #faults: readonly Fault[];
  readonly #late: Call[];
  #calls = 0;

  /** @param late takes the calls that are still on their way */
  constructor(faults: readonly Fault[], late: Call[]) {
    this.#faults = faults;
    this.#late = late;
  }

  async pass<T>(send: () => Promise<T>, noAnswer: () => Error): Promise<T> {
    if (this.isDead) throw new Killed();
    const fault = this.#faults.find(({ at }) => at === this.#calls);
    this.#calls++;
    switch (fault?.fate) {
      case undefined:
        return send();
      case 'dies before it':
        return this.#die();
      case 'dies after it':
        await send().catch(() => {});
        return this.#die();
      case 'dies, and it arrives late':
        this.#late.push(send);
        return this.#die();
      case 'gets no answer':
        await send().catch(() => {});
        throw noAnswer();
      case 'gets no answer, and it arrives late':
        this.#late.push(send);
        throw noAnswer();
      case 'gets its answer, and it arrives again':
        this.#late.push(send);
        return send();
    }
  }

  #die(): never {
    this.isDead = true;
    throw new Killed();
  }
}

/** The wire of the current reconcile; many run at a time, over the same clients. */
export const wires = new AsyncLocalStorage<Wire | undefined>();

function pass<T>(send: () => Promise<T>, noAnswer: () => Error): Promise<T> {
  const wire = wires.getStore();
  return wire ? wire.pass(send, noAnswer) : send();
}

/** For the client of the management API. */
export const admit = <T>(attempt: () => Promise<T>) => pass(attempt, () => new ApiUnreachableError('by the test'));

/** Reads pass through the wire as well. */
export class WiredKubeApi extends KubeApi {
  override get(...args: Parameters<KubeApi['get']>) {
    return pass(() => super.get(...args), noKubeAnswer);
  }

  override create(...args: Parameters<KubeApi['create']>) {
    return pass(() => super.create(...args), noKubeAnswer);
  }

  override tryCreate(...args: Parameters<KubeApi['tryCreate']>) {
    return pass(() => super.tryCreate(...args), noKubeAnswer);
  }

  override tryPatch(...args: Parameters<KubeApi['tryPatch']>) {
    return pass(() => super.tryPatch(...args), noKubeAnswer);
  }

  override replace(...args: Parameters<KubeApi['replace']>) {
    return pass(() => super.replace(...args), noKubeAnswer);
  }

  override patch(...args: Parameters<KubeApi['patch']>) {
    return pass(() => super.patch(...args), noKubeAnswer);
  }

  override delete(...args: Parameters<KubeApi['delete']>) {
    return pass(() => super.delete(...args), noKubeAnswer);
  }
}

const noKubeAnswer = () => new KubeUnreachableError('by the test');

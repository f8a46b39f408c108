/** The states that a thing may be in: one while every response arrives, several after a response was lost. */
import { isDeepStrictEqual } from 'node:util';

export class Possible<S> {
  #states: readonly S[];

  constructor(initial: S) {
    this.#states = [initial];
  }

  /** Records a write that turns each state into its `next`. Without a response, the old states stay possible. */
  write(next: (state: S) => S, isAcknowledged: boolean): void {
    const after = this.#states.map(next);
    this.#keep(isAcknowledged ? after : [...this.#states, ...after]);
  }

  /** Keeps only the states that fit an observation. If none does, keeps all and returns false. */
  saw(isSeen: (state: S) => boolean): boolean {
    const left = this.#states.filter(isSeen);
    if (left.length > 0) this.#states = left;
    return left.length > 0;
  }

  /** Whether a possible state fits. Members that the state does not name may have any value. */
  includes(actual: unknown): boolean {
    return this.#states.some((state) => fits(actual, state));
  }

  toString(): string {
    return this.#states.map((state) => JSON.stringify(state)).join(' or ');
  }

  #keep(states: readonly S[]): void {
    this.#states = states.filter((state, at) => states.findIndex((each) => isDeepStrictEqual(each, state)) === at);
  }
}

function fits(actual: unknown, expected: unknown): boolean {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    return expected.every((each, index) => fits(actual[index], each));
  }
  if (typeof expected !== 'object' || expected === null) return isDeepStrictEqual(actual, expected);
  if (typeof actual !== 'object' || actual === null) return false;
  const members = new Map(Object.entries(actual));
  return Object.entries(expected).every(([name, value]) => fits(members.get(name), value));
}

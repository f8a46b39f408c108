/** What one thing may be like by now: one state while every answer has arrived, more after an answer was lost. */
import { isDeepStrictEqual } from 'node:util';

export class Possible<S> {
  #states: readonly S[];

  constructor(initial: S) {
    this.#states = [initial];
  }

  /** A write that made it `next` of what it was. Without an answer it may also be what it was. */
  write(next: (state: S) => S, isAcknowledged: boolean): void {
    const after = this.#states.map(next);
    this.#keep(isAcknowledged ? after : [...this.#states, ...after]);
  }

  /** Something was seen: only these states remain. Returns whether any does. */
  saw(isSeen: (state: S) => boolean): boolean {
    const left = this.#states.filter(isSeen);
    if (left.length > 0) this.#states = left;
    return left.length > 0;
  }

  /** Members that a state does not name may be anything. */
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

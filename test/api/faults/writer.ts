/** A client of the API under load, and how patient it is. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../../dev/fixtures/random.ts';
import type { CreateOptions } from '../../../src/client/client.ts';
import type { ErrorCode } from '../../../src/resources/definition/errors.ts';
import type { Load, Outcome, Send } from './load.ts';
import type { Possible } from './possible.ts';
import type { Stored } from './stored.ts';

/** A resource as far as every story models it. */
export interface Thing {
  readonly id?: string;
  readonly revision: number;
}

export const FIRST: Thing = { revision: 1 };

export const under = (idempotencyKey: string): CreateOptions => ({ idempotencyKey });

/** One client: a call at a time, to the processes in turn. */
export class Writer {
  readonly random: Random;
  readonly #load: Load;
  #turn: number;

  constructor(load: Load, index: number, random: Random) {
    this.#load = load;
    this.#turn = index;
    this.random = random;
  }

  async call<T>(send: Send<T>): Promise<Outcome<T>> {
    const outcome = await this.#load.call(this.#load.processAt(this.#turn++), send);
    // As a client would, only less patiently.
    if (outcome.kind === 'unknown') await delay(5 + this.random.below(30));
    return outcome;
  }

  /** The same call to both processes at the same moment. */
  callBoth<T>(send: Send<T>): Promise<Outcome<T>[]> {
    return Promise.all([0, 1].map((index) => this.#load.call(this.#load.processAt(index), send)));
  }

  /** Repeats the call, which must be safe to repeat, until it is answered. */
  async settled<T>(send: Send<T>): Promise<T> {
    for (;;) {
      const outcome = await this.call(send);
      if (outcome.kind === 'done') return outcome.value;
      if (outcome.kind === 'refused') throw outcome.error;
    }
  }

  /**
   * Repeats the call until it is answered, or for so long as the writer has patience.
   * @param hadEffect how it is refused when an earlier one, whose answer was lost, had its effect; no other way
   */
  async attempt<T>(send: Send<T>, hadEffect?: ErrorCode): Promise<Outcome<T>> {
    let outcome = await this.call(send);
    let isRepeated = false;
    while (outcome.kind === 'unknown' && this.random.chance(0.6)) {
      isRepeated = true;
      outcome = await this.call(send);
    }
    if (outcome.kind === 'refused' && !(isRepeated && outcome.error.code === hadEffect)) throw outcome.error;
    return outcome;
  }

  /** Says what something may be like; it is held against the database in the end. */
  track(mark: string, possible: Possible<unknown>, observe: (stored: Stored) => unknown): void {
    this.#load.tracked.push({ mark, possible, observe });
  }

  require(isTrue: boolean, otherwise: string): void {
    if (!isTrue) this.#load.violations.push(otherwise);
  }

  /** The token of a credential that exists from now on. */
  keepToken(id: string, token: string): void {
    this.#load.tokens.set(id, token);
  }

  dropToken(id: string): void {
    this.#load.tokens.delete(id);
  }
}

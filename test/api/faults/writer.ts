/** A client of the API under load, and how long it retries. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../../dev/fixtures/random.ts';
import type { CreateOptions } from '../../../src/client/client.ts';
import type { ErrorCode } from '../../../src/resources/definition/errors.ts';
import type { Load, Outcome, Send } from './load.ts';
import type { Possible } from './possible.ts';
import type { Stored } from './stored.ts';

/** The part of a resource that every story models. */
export interface Thing {
  readonly id?: string;
  readonly revision: number;
}

export const FIRST: Thing = { revision: 1 };

export const under = (idempotencyKey: string): CreateOptions => ({ idempotencyKey });

/** One client: sends one call at a time, to the processes in turn. */
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
    // Backs off like a real client, but more briefly.
    if (outcome.kind === 'unknown') await delay(5 + this.random.below(30));
    return outcome;
  }

  /** Sends the same call to both processes at once. */
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
   * Repeats the call until it is answered or the writer gives up.
   * @param hadEffect the one error that a retry may get, because an earlier attempt without a response took effect
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

  /** Registers the states that something may be in; they are compared with the database at the end. */
  track(mark: string, possible: Possible<unknown>, observe: (stored: Stored) => unknown): void {
    this.#load.tracked.push({ mark, possible, observe });
  }

  require(isTrue: boolean, otherwise: string): void {
    if (!isTrue) this.#load.violations.push(otherwise);
  }

  /** Records the token of a credential that now exists. */
  keepToken(id: string, token: string): void {
    this.#load.tokens.set(id, token);
  }

  dropToken(id: string): void {
    this.#load.tokens.delete(id);
  }
}

/** Writers on two API processes, and what they were answered. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../../src/client/client.ts';
import { ApiError, NoAnswerError } from '../../../src/client/errors.ts';
import type { ErrorCode } from '../../../src/resources/errors.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type Random, randomFrom } from '../../random.ts';
import type { ApiProcess } from './api-process.ts';
import type { Possible } from './possible.ts';
import type { Stored } from './stored.ts';
import type { Story } from './stories.ts';

export type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** 4xx: certainly without effect. */
  | { readonly kind: 'refused'; readonly error: ApiError }
  /** 503, or the process was killed: it may have had its effect. */
  | { readonly kind: 'unknown' };

export type Send<T> = (client: Client) => Promise<T>;

interface Tracked {
  readonly mark: string;
  readonly possible: Possible<unknown>;
  readonly observe: (stored: Stored) => unknown;
}

export interface Counts {
  acknowledged: number;
  unavailable: number;
  withoutAnswer: number;
  refused: number;
}

export class Load {
  readonly tracked: Tracked[] = [];
  /** Tokens whose credential certainly exists. */
  readonly tokens = new Map<string, string>();
  /** What nobody may be answered, ever. */
  readonly violations: string[] = [];
  readonly #counts = new Map<ApiProcess, Counts>();
  readonly #processes: readonly ApiProcess[];
  #running: Promise<unknown> | undefined;
  #stopping = false;

  constructor(processes: readonly ApiProcess[]) {
    this.#processes = processes;
    for (const api of processes) {
      this.#counts.set(api, { acknowledged: 0, unavailable: 0, withoutAnswer: 0, refused: 0 });
    }
  }

  /** Starts `count` writers, of each story in turn. */
  start(stories: readonly Story[], count: number, seed: number): void {
    const writers = Array.from({ length: count }, (_, index) => new Writer(this, index, randomFrom(seed + index)));
    this.#running = Promise.all(
      writers.map(async (writer, index) => {
        const story = stories[index % stories.length];
        for (let n = 0; !this.#stopping; n++) {
          const mark = `w${index}-${n}`;
          await story?.(writer, mark).catch((error: unknown) => void this.violations.push(`${mark}: ${error}`));
        }
      }),
    );
  }

  /** Lets every writer come to the end of its story. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
  }

  get counts(): Counts {
    const total = { acknowledged: 0, unavailable: 0, withoutAnswer: 0, refused: 0 };
    for (const each of this.#counts.values()) {
      total.acknowledged += each.acknowledged;
      total.unavailable += each.unavailable;
      total.withoutAnswer += each.withoutAnswer;
      total.refused += each.refused;
    }
    return total;
  }

  /** Waits until every process that serves has acknowledged `count` more. */
  progress(count: number): Promise<unknown> {
    return this.#more('acknowledged', count);
  }

  /** Waits until every one of these processes that serves has answered 503 `count` more times. */
  refusals(count: number, processes = this.#processes): Promise<unknown> {
    return this.#more('unavailable', count, processes);
  }

  async call<T>(api: ApiProcess, send: Send<T>): Promise<Outcome<T>> {
    const counts = this.#counts.get(api);
    if (!counts) throw new Error('a process that is none of this load');
    const { kills } = api;
    const wasServing = api.isServing;
    try {
      const value = await send(api.client);
      counts.acknowledged++;
      return { kind: 'done', value };
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) {
        counts.refused++;
        return { kind: 'refused', error };
      }
      if (isUsual503(error)) counts.unavailable++;
      else if (error instanceof NoAnswerError && error.status === undefined && (!wasServing || api.kills > kills)) {
        counts.withoutAnswer++;
      } else {
        const status = error instanceof ApiError ? `${error.status} ` : '';
        this.violations.push(`an answer that may not be: ${status}${error}`);
      }
      return { kind: 'unknown' };
    }
  }

  #more(what: keyof Counts, count: number, processes = this.#processes): Promise<unknown> {
    const before = new Map([...this.#counts].map(([api, counts]) => [api, counts[what]]));
    const isThere = () =>
      processes.every((api) => {
        const now = this.#counts.get(api)?.[what] ?? 0;
        return !api.isServing || now >= (before.get(api) ?? 0) + count;
      });
    return waitFor(`every process to have ${count} more ${what}`, isThere, { timeoutMs: 120_000, intervalMs: 10 });
  }

  processAt(index: number): ApiProcess {
    const api = this.#processes[index % this.#processes.length];
    if (!api) throw new Error('no process');
    return api;
  }
}

function isUsual503(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { status, code, retryAfterMs, details } = error;
  return status === 503 && code === 'UNAVAILABLE' && retryAfterMs === 1000 && details.request_id !== undefined;
}

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

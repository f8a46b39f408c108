/** Writers on two API processes, and the outcomes of their calls. */

import { randomFrom } from '../../../dev/fixtures/random.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { Client } from '../../../src/client/client.ts';
import { ApiError, ApiUnreachableError } from '../../../src/client/errors.ts';
import type { ApiProcess } from './api-process.ts';
import type { Possible } from './possible.ts';
import type { Stored } from './stored.ts';
import { Writer } from './writer.ts';

export type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** 4xx: the call certainly had no effect. */
  | { readonly kind: 'refused'; readonly error: ApiError }
  /** 503, or the process was killed: the call may have taken effect. */
  | { readonly kind: 'unknown' };

/** @param mark names what this run of the story creates; valid as a part of a host name. */
export type Story = (writer: Writer, mark: string) => Promise<void>;

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

const NONE: Counts = { acknowledged: 0, unavailable: 0, withoutAnswer: 0, refused: 0 };

export class Load {
  readonly tracked: Tracked[] = [];
  /** Tokens of credentials that certainly exist, by id of the credential. */
  readonly tokens = new Map<string, string>();
  /** Outcomes that must never occur. */
  readonly violations: string[] = [];
  readonly #counts = new Map<ApiProcess, Counts>();
  readonly #processes: readonly ApiProcess[];
  #running: Promise<unknown> | undefined;
  #stopping = false;

  constructor(processes: readonly ApiProcess[]) {
    this.#processes = processes;
    for (const api of processes) this.#counts.set(api, { ...NONE });
  }

  /** Starts `count` writers, and assigns the stories to them in turn. */
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

  /** Stops the writers; each finishes its story first. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
  }

  get counts(): Counts {
    const total = (what: keyof Counts) => [...this.#counts.values()].reduce((sum, counts) => sum + counts[what], 0);
    return {
      acknowledged: total('acknowledged'),
      unavailable: total('unavailable'),
      withoutAnswer: total('withoutAnswer'),
      refused: total('refused'),
    };
  }

  /** Waits until every process that is serving has acknowledged `count` more calls. */
  progress(count: number): Promise<unknown> {
    return this.#more('acknowledged', count);
  }

  /** Waits until each of these processes that is serving has returned 503 `count` more times. */
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
      else if (
        error instanceof ApiUnreachableError &&
        error.status === undefined &&
        (!wasServing || api.kills > kills)
      ) {
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

/** Writers on two API processes, and what they were answered. */

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
  /** 4xx: certainly without effect. */
  | { readonly kind: 'refused'; readonly error: ApiError }
  /** 503, or the process was killed: it may have had its effect. */
  | { readonly kind: 'unknown' };

/** @param mark names what this telling of the story makes; fit for a host name. */
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
    for (const api of processes) this.#counts.set(api, { ...NONE });
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
    const total = (what: keyof Counts) => [...this.#counts.values()].reduce((sum, counts) => sum + counts[what], 0);
    return {
      acknowledged: total('acknowledged'),
      unavailable: total('unavailable'),
      withoutAnswer: total('withoutAnswer'),
      refused: total('refused'),
    };
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

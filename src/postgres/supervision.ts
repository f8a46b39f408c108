/** Restarts a server that has died. It is polled, since it is not a child of this process: pg_ctl starts it. */
import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../retry/backoff.ts';

export interface Supervised {
  /** Whether the server runs, or it is up to another process to start it. */
  isHealthy(): Promise<boolean>;
  /** Returns once the server answers. */
  restart(): Promise<void>;
  /** Called for each attempt. */
  log(message: string, error?: unknown): void;
}

const POLL_MS = 500;

const BACKOFF = { firstMs: 500, longestMs: 30_000 };

/** Watches the server until the returned function is called, which waits for an attempt under way. */
export function supervise({ isHealthy, restart, log }: Supervised): () => Promise<void> {
  const ended = new AbortController();
  const sleep = (ms: number) => delay(ms, undefined, { signal: ended.signal, ref: false }).catch(() => undefined);

  async function watch(): Promise<void> {
    for (let failures = 0; !ended.signal.aborted; ) {
      await sleep(failures === 0 ? POLL_MS : backoff(failures, BACKOFF));
      if (ended.signal.aborted) return;
      try {
        if (await isHealthy()) {
          failures = 0;
          continue;
        }
        log('PostgreSQL has died; starting it again');
        await restart();
        log('PostgreSQL is running again');
        failures = 0;
      } catch (error) {
        failures++;
        log('could not start PostgreSQL again; will retry', error);
      }
    }
  }

  const watching = watch();
  return () => {
    ended.abort();
    return watching;
  };
}

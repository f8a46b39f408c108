/** Starts a server again that has died. It is no child of this process (pg_ctl starts it), so nothing tells of its end. */
import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../retry/backoff.ts';

export interface Supervised {
  /** Whether it runs, or it is for somebody else to start it. */
  isFine(): Promise<boolean>;
  /** Returns when it answers. */
  restart(): Promise<void>;
  /** Told of each attempt. */
  log(message: string, error?: unknown): void;
}

const LOOK_EVERY_MS = 500;

const BACKOFF = { firstMs: 500, longestMs: 30_000 };

/** Watches over it until the function that is returned is called, which waits for an attempt under way. */
export function supervise({ isFine, restart, log }: Supervised): () => Promise<void> {
  const ended = new AbortController();
  const sleep = (ms: number) => delay(ms, undefined, { signal: ended.signal, ref: false }).catch(() => undefined);

  async function watch(): Promise<void> {
    for (let failures = 0; !ended.signal.aborted; ) {
      await sleep(failures === 0 ? LOOK_EVERY_MS : backoff(failures, BACKOFF));
      if (ended.signal.aborted) return;
      try {
        if (await isFine()) {
          failures = 0;
          continue;
        }
        log('PostgreSQL has died; starting it again');
        await restart();
        log('PostgreSQL is running again');
        failures = 0;
      } catch (error) {
        failures++;
        log('could not start PostgreSQL again; trying on', error);
      }
    }
  }

  const watching = watch();
  return () => {
    ended.abort();
    return watching;
  };
}

/** Refusals and failures come by the thousand: for each kind one line when it begins, then one a minute with their number. */
import type { FastifyBaseLogger } from 'fastify';

const LOG_EVERY_MS = 60_000;

/** Returns what is to be called at every refusal. */
export function refusalLog(
  log: Pick<FastifyBaseLogger, 'warn'>,
  about: Record<string, unknown>,
  texts: { first: string; later: string },
): () => void {
  const isFirst = counter((refused) => log.warn({ ...about, refused }, texts.later));
  return () => {
    if (isFirst()) log.warn(about, texts.first);
  };
}

/** What made a request fail that was not to blame for it. */
export interface Failure {
  err: unknown;
  level: 'warn' | 'error';
  /** What is wrong with the database, if that is the reason. */
  condition: string | undefined;
  /** Of the request. */
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>;
}

/** Says that requests are refused for a reason, or fail for it, of which there must be few. */
export type LogRefusal = (reason: string, failure?: Failure) => void;

/** Counts by reason, and failures of the database by condition, too. */
export function refusalLogs(log: Pick<FastifyBaseLogger, 'warn' | 'error'>): LogRefusal {
  const refusals = new Map<string, () => void>();
  const failures = new Map<string, () => boolean>();

  function logFailure(reason: string, { err, level, condition, log: ofRequest }: Failure): void {
    const isFirst = entry(failures, `${condition}: ${reason}`, () =>
      counter((failed) => log[level]({ condition, failed }, reason)),
    );
    // In full, with the request that it was noticed in: the later lines only say that it goes on.
    if (isFirst()) ofRequest[level]({ err, condition }, reason);
  }

  return (reason, failure) => {
    if (failure) return logFailure(reason, failure);
    const refused = entry(refusals, reason, () =>
      refusalLog(log, { reason }, { first: 'refusing requests', later: 'refused requests' }),
    );
    refused();
  };
}

/**
 * Counts the calls of what it returns, which says whether this is the first one, or the first after a minute without any.
 * @param onMinute told how many there were in a minute, unless there were none
 */
function counter(onMinute: (count: number) => void): () => boolean {
  let count = 0;
  let timer: NodeJS.Timeout | undefined;
  return () => {
    count++;
    if (timer) return false;
    timer = setInterval(() => {
      if (count > 0) onMinute(count);
      else {
        clearInterval(timer);
        timer = undefined;
      }
      count = 0;
    }, LOG_EVERY_MS).unref();
    return true;
  };
}

function entry<T>(map: Map<string, T>, key: string, make: () => T): T {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

/** Logs refusals and failures, which can come by the thousand: the first of each kind, then its count every minute. */
import type { FastifyBaseLogger } from 'fastify';

const LOG_EVERY_MS = 60_000;

/** Returns the function to call at each refusal. */
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

/** Logs failures of work in the background. There must be few different kinds of work. */
export type LogFailure = (error: unknown, work: string, about?: Record<string, unknown>) => void;

/** Counts by kind of work. */
export function failureLog(log: Pick<FastifyBaseLogger, 'warn'>): LogFailure {
  const kinds = new Map<string, () => boolean>();
  return (err, work, about) => {
    const message = `could not ${work}`;
    const isFirst = entry(kinds, work, () => counter((failed) => log.warn({ failed }, message)));
    if (isFirst()) log.warn({ err, ...about }, message);
  };
}

/** Why a request failed, other than by its own fault. */
export interface Failure {
  err: unknown;
  level: 'warn' | 'error';
  /** The condition of the database, if that is the cause. */
  condition: string | undefined;
  /** The log of the request. */
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>;
}

/** Logs that requests are refused or fail. There must be few different reasons. */
export type LogRefusal = (reason: string, failure?: Failure) => void;

/** Counts by reason, and failures of the database also by condition. */
export function refusalLogs(log: Pick<FastifyBaseLogger, 'warn' | 'error'>): LogRefusal {
  const refusals = new Map<string, () => void>();
  const failures = new Map<string, () => boolean>();

  function logFailure(reason: string, { err, level, condition, log: ofRequest }: Failure): void {
    const isFirst = entry(failures, `${condition}: ${reason}`, () =>
      counter((failed) => log[level]({ condition, failed }, reason)),
    );
    // The first line has the error and the request; later lines only the number.
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
 * Returns a function that counts its calls, and returns whether this one is the first, or the first after a minute without any.
 * @param onMinute called every minute with the number of calls, if there were any
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

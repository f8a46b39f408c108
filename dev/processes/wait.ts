import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** Default 30 000. */
  readonly timeoutMs?: number;
  /** Between two attempts; default 50. */
  readonly intervalMs?: number;
}

/** Thrown by `waitFor`; `cause` is what the last attempt threw, if anything. */
export class WaitTimeout extends Error {
  override readonly name = 'WaitTimeout';
}

/**
 * Calls `probe` until it returns something other than undefined and false, and returns that. A probe that throws has
 * not succeeded yet, unless it throws an error for which `isFatal` is true.
 * @throws WaitTimeout
 */
export async function waitFor<T>(
  what: string,
  probe: () => T | Promise<T>,
  options: WaitOptions & { readonly isFatal?: (error: unknown) => boolean } = {},
): Promise<Exclude<T, undefined | false>> {
  const { timeoutMs = 30_000, intervalMs = 50, isFatal = () => false } = options;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let cause: unknown;
    try {
      const found = await probe();
      if (isFound(found)) return found;
    } catch (error) {
      if (isFatal(error)) throw error;
      cause = error;
    }
    if (performance.now() > deadline) {
      const reason = cause instanceof Error ? `: ${cause.message}` : '';
      throw new WaitTimeout(`gave up waiting for ${what} after ${timeoutMs} ms${reason}`, { cause });
    }
    await sleep(intervalMs);
  }
}

function isFound<T>(value: T): value is Exclude<T, undefined | false> {
  return value !== undefined && value !== false;
}

/** Delays between attempts: exponential, capped, with jitter so that clients do not all come back at once. */

export interface BackoffOptions {
  firstMs: number;
  longestMs: number;
}

/** Milliseconds before attempt `failures + 1`: from half to the whole of the exponential delay. */
export function backoff(failures: number, options: BackoffOptions, random: () => number = Math.random): number {
  const whole = Math.min(options.longestMs, options.firstMs * 2 ** Math.min(failures - 1, 30));
  return whole / 2 + random() * (whole / 2);
}

/** `value` give or take `share` of it. */
export function jittered(value: number, share: number, random: () => number = Math.random): number {
  return value * (1 - share + 2 * share * random());
}

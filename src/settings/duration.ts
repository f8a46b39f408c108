/** Durations as Go and Kubernetes write them: `90s`, `1h30m`, `720h`. */

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

export const DURATION_PATTERN = '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$';

/** Milliseconds. @throws RangeError when `value` is not such a duration */
export function parseDuration(value: string): number {
  if (!new RegExp(DURATION_PATTERN).test(value))
    throw new RangeError(`"${value}" is not a duration such as 90s or 1h30m`);
  let ms = 0;
  for (const [, amount, , unit] of value.matchAll(/([0-9]+(\.[0-9]+)?)(ms|s|m|h)/g)) {
    ms += Number(amount) * (UNITS[unit ?? ''] ?? 0);
  }
  return ms;
}

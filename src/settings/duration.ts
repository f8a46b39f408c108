/** Durations as Go and Kubernetes write them, each unit at most once and the largest first: `90s`, `1h30m`, `720h`. */

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** As the source of a regular expression. @param amounts expressions of the amount with its unit, largest first */
export function durationPattern(amounts: readonly string[]): string {
  // Each alternative begins with another unit, so that none is empty.
  const from = amounts.map((amount, at) => [amount, ...amounts.slice(at + 1).map((less) => `(${less})?`)].join(''));
  return `^(${from.join('|')})$`;
}

export const DURATION_PATTERN = durationPattern(Object.keys(UNITS).map((unit) => `[0-9]+(\\.[0-9]+)?${unit}`));

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

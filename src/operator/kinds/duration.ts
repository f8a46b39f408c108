/** Durations as Go and Kubernetes write them: `90s`, `1h30m`, `720h`. */
import type { CelRule } from '../runtime/kind.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

export const DURATION_PATTERN = '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$';

/** Milliseconds. @throws RangeError when `value` is no such duration */
export function parseDuration(value: string): number {
  if (!new RegExp(DURATION_PATTERN).test(value)) throw new RangeError(`"${value}" is no duration such as 90s or 1h30m`);
  let ms = 0;
  for (const [, amount, , unit] of value.matchAll(/([0-9]+(\.[0-9]+)?)(ms|s|m|h)/g)) {
    ms += Number(amount) * (UNITS[unit ?? ''] ?? 0);
  }
  return ms;
}

/** Fewer digits than DURATION_PATTERN: in CEL, as in Go, a duration of more than 292 years is an error. */
const BOUNDED = [
  '[0-9]{1,5}(\\\\.[0-9]{1,3})?h',
  '[0-9]{1,7}(\\\\.[0-9]{1,3})?m',
  '[0-9]{1,9}(\\\\.[0-9]{1,3})?s',
  '[0-9]{1,12}ms',
].join('|');

/** CEL: whether `field`, of at most 32 characters, is a duration. */
export const matchesDuration = (field: string) => `${field}.matches('^(${BOUNDED})+$')`;

export const durationRules: readonly CelRule[] = [
  { rule: matchesDuration('self'), message: 'must be a duration such as 720h, 90s or 1h30m, of less than 10 years' },
];

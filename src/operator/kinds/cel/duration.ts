/** Durations (src/settings/duration.ts) in CEL, for the API server to check. */
import type { CelRule } from '../../managed/cel.ts';

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
  { rule: matchesDuration('self'), message: 'must be a duration of less than 10 years, such as 720h, 90s or 1h30m' },
];

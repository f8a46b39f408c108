/** Durations (src/settings/duration.ts) in CEL, for the API server to check. */
import type { CelRule } from '../../managed/cel.ts';

/** Few digits enough that no sum of them overflows: in CEL, as in Go, a duration of more than 292 years is an error. */
const BOUNDED = [
  '[0-9]{1,5}(\\\\.[0-9]{1,3})?h',
  '[0-9]{1,7}(\\\\.[0-9]{1,3})?m',
  '[0-9]{1,9}(\\\\.[0-9]{1,3})?s',
  '[0-9]{1,12}ms',
].join('|');

/** CEL: whether `field`, of at most 32 characters, is a duration. */
export const matchesDuration = (field: string) => `${field}.matches('^(${BOUNDED})+$')`;

const LONGEST = '87600h';
const message = `must be a duration of at most 10 years (${LONGEST}), such as 720h, 90s or 1h30m`;

export const durationRules: readonly CelRule[] = [
  { rule: matchesDuration('self'), message },
  { rule: `!${matchesDuration('self')} || duration(self) <= duration('${LONGEST}')`, message },
];

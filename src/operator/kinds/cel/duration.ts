/** Durations (src/settings/duration.ts) in specs, checked by the API server in CEL and here for specs that it has not checked. */
import { durationPattern, parseDuration } from '../../../settings/duration.ts';
import type { CelRule } from '../../managed/declaration/cel.ts';

/** Few enough digits that no sum overflows: in CEL, as in Go, a duration of more than 292 years is an error. */
const PATTERN = durationPattern([
  '[0-9]{1,5}(\\.[0-9]{1,3})?h',
  '[0-9]{1,7}(\\.[0-9]{1,3})?m',
  '[0-9]{1,9}(\\.[0-9]{1,3})?s',
  '[0-9]{1,12}ms',
]);

/** CEL: whether `field`, of at most 32 characters, is a duration. */
export const matchesDuration = (field: string) => `${field}.matches('${PATTERN.replaceAll('\\', '\\\\')}')`;

const LONGEST = '87600h';
export const durationMessage = `must be a duration of at most 10 years (${LONGEST}), such as 720h, 90s or 1h30m, with each unit once`;

export const durationRules: readonly CelRule[] = [
  { rule: matchesDuration('self'), message: durationMessage },
  { rule: `!${matchesDuration('self')} || duration(self) <= duration('${LONGEST}')`, message: durationMessage },
];

/** The same rules. */
export const isDuration = (value: string) =>
  new RegExp(PATTERN).test(value) && parseDuration(value) <= parseDuration(LONGEST);

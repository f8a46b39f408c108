import { expect, test } from 'vitest';
import { REASON } from '../../../src/operator/contract/reasons.ts';
import { LONGEST_PAUSE_MS } from '../../../src/operator/controller/api-budget.ts';
import { reactionTo } from '../../../src/operator/controller/failure-policy.ts';
import type { Failure } from '../../../src/operator/managed/object/failure.ts';

const what = { reason: REASON.internalError, message: 'said' };
const transient: Failure = { kind: 'transient', ...what };
const terminal: Failure = { kind: 'terminal', ...what };
const stale: Failure = { kind: 'stale', ...what };

const notYet = { isError: true, show: undefined };
const TEN_MINUTES = 600_000;

test.each<[string, Failure, Parameters<typeof reactionTo>[1], ReturnType<typeof reactionTo>]>([
  [
    'somebody was faster: soon again, and nothing to show',
    stale,
    { failures: 9, stale: 4 },
    { retry: { quickFirst: true }, isError: false, show: undefined },
  ],
  [
    'nobody was faster, and yet the same version is refused: an error like others',
    stale,
    { failures: 5, stale: 5 },
    { retry: {}, isError: true, show: { ...what, keepReady: true } },
  ],
  [
    'only a change helps: shown at once, and tried ever less often',
    terminal,
    { failures: 1, stale: 0 },
    { retry: { longestMs: TEN_MINUTES }, isError: true, show: { ...what, keepReady: false } },
  ],
  ['passing trouble, twice: not shown', transient, { failures: 2, stale: 0 }, { retry: { atLeastMs: 0 }, ...notYet }],
  [
    'passing trouble that lasts: shown, but as ready as it was',
    transient,
    { failures: 3, stale: 0 },
    { retry: { atLeastMs: 0 }, isError: true, show: { ...what, keepReady: true } },
  ],
  [
    'the API asks for a pause of days: not for that long',
    { ...transient, retryAfterMs: 9e9 },
    { failures: 1, stale: 0 },
    { retry: { atLeastMs: LONGEST_PAUSE_MS }, ...notYet },
  ],
])('%s', (_, failure, attempts, expected) => {
  expect(reactionTo(failure, attempts)).toEqual(expected);
});

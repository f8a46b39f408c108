import { expect, test } from 'vitest';
import { REASON } from '../../../src/operator/contract/reasons.ts';
import { LONGEST_PAUSE_MS } from '../../../src/operator/controller/api-budget.ts';
import { type Attempts, reactionTo } from '../../../src/operator/controller/failure-policy.ts';
import type { Failure } from '../../../src/operator/managed/object/failure.ts';

const what = { reason: REASON.internalError, message: 'said' };
const transient: Failure = { kind: 'transient', ...what };
const terminal: Failure = { kind: 'terminal', ...what };
const stale: Failure = { kind: 'stale', ...what };

const notYet = { isError: true, show: undefined };
const TEN_MINUTES = 600_000;

test.each<[string, Failure, Partial<Attempts>, ReturnType<typeof reactionTo>]>([
  [
    'a stale object is retried soon, and shows nothing',
    stale,
    { failures: 9, stale: 4 },
    { retry: { quickFirst: true }, isError: false, show: undefined },
  ],
  [
    'the fifth stale failure of one version is an ordinary error',
    stale,
    { failures: 5, stale: 5 },
    { retry: {}, isError: true, show: { ...what, keepReady: true } },
  ],
  [
    'a terminal failure is shown at once, and retried ever less often',
    terminal,
    { failures: 1, stale: 0 },
    { retry: { longestMs: TEN_MINUTES }, isError: true, show: { ...what, keepReady: false } },
  ],
  ['two transient failures are hidden', transient, { failures: 2, stale: 0 }, { retry: { atLeastMs: 0 }, ...notYet }],
  [
    'a third transient failure is shown, and keeps Ready as it was',
    transient,
    { failures: 3, stale: 0 },
    { retry: { atLeastMs: 0 }, isError: true, show: { ...what, keepReady: true } },
  ],
  [
    'the first transient failure is shown on an object that says nothing yet',
    transient,
    { isPending: true },
    { retry: { atLeastMs: 0 }, isError: true, show: { ...what, keepReady: true } },
  ],
  [
    'a short pause requested by the API is not worth a status',
    { ...transient, retryAfterMs: 5 },
    { isPending: true },
    { retry: { atLeastMs: 5 }, ...notYet },
  ],
  [
    'a pause of days requested by the API is shortened',
    { ...transient, retryAfterMs: 9e9 },
    { failures: 1, stale: 0 },
    { retry: { atLeastMs: LONGEST_PAUSE_MS }, ...notYet },
  ],
])('%s', (_, failure, attempts, expected) => {
  expect(reactionTo(failure, { failures: 1, stale: 0, isPending: false, ...attempts })).toEqual(expected);
});

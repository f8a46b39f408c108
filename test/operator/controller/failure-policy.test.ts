import { expect, test } from 'vitest';
import { LONGEST_PAUSE_MS } from '../../../src/operator/controller/api-budget.ts';
import { reactionTo } from '../../../src/operator/controller/failure-policy.ts';
import type { Failure } from '../../../src/operator/managed/failure.ts';

const what = { reason: 'Some', message: 'said' };
const transient: Failure = { kind: 'transient', ...what };
const terminal: Failure = { kind: 'terminal', ...what };

test.each<[string, Failure, number, ReturnType<typeof reactionTo>]>([
  [
    'somebody was faster: soon again, and nothing to show',
    { kind: 'stale' },
    1,
    { retry: { quickFirst: true }, show: undefined },
  ],
  [
    'somebody was faster, many times: still nothing to show',
    { kind: 'stale' },
    9,
    { retry: { quickFirst: true }, show: undefined },
  ],
  ['only a change helps: shown at once', terminal, 1, { retry: {}, show: { ...what, keepReady: false } }],
  ['passing trouble, once: not shown', transient, 1, { retry: { atLeastMs: 0 }, show: undefined }],
  ['passing trouble, twice: not shown', transient, 2, { retry: { atLeastMs: 0 }, show: undefined }],
  [
    'passing trouble that lasts: shown, but as ready as it was',
    transient,
    3,
    { retry: { atLeastMs: 0 }, show: { ...what, keepReady: true } },
  ],
  [
    'the API asks for a pause: not before its end',
    { ...transient, retryAfterMs: 7_000 },
    1,
    { retry: { atLeastMs: 7_000 }, show: undefined },
  ],
  [
    'the API asks for a pause of days: not for that long',
    { ...transient, retryAfterMs: 9e9 },
    1,
    { retry: { atLeastMs: LONGEST_PAUSE_MS }, show: undefined },
  ],
])('%s', (_, failure, failures, expected) => {
  expect(reactionTo(failure, failures)).toEqual(expected);
});

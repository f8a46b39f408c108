import { expect, test } from 'vitest';
import { ReissueBackoff } from '../../../../src/operator/managed/secrets/reissue-backoff.ts';

const START = Date.parse('2026-11-21T12:00:00.000Z');
const at = (seconds: number) => new Date(START + seconds * 1000);

test('the pause doubles with every loss, up to ten minutes', () => {
  const backoff = new ReissueBackoff();
  expect(backoff.pauseUntil('a', at(0))).toBeUndefined();
  const pauses: number[] = [];
  let now = at(0);
  for (let times = 0; times < 12; times++) {
    backoff.reissued('a', now);
    const until = backoff.pauseUntil('a', now) ?? now;
    pauses.push((until.getTime() - now.getTime()) / 1000);
    expect(backoff.pauseUntil('a', until)).toBeUndefined();
    now = until;
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
  expect(backoff.pauseUntil('b', at(0))).toBeUndefined();
});

test('a loss long after the last one counts as the first again', () => {
  const backoff = new ReissueBackoff();
  for (const second of [0, 1, 3]) backoff.reissued('a', at(second));
  backoff.reissued('a', at(3 + 1200));
  expect(backoff.pauseUntil('a', at(3 + 1200))).toEqual(at(3 + 1201));
});

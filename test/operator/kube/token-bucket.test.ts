import { expect, test } from 'vitest';
import { TokenBucket } from '../../../src/operator/kube/token-bucket.ts';

test.each([
  ['a burst at once', [0, 0, 0], [true, true, true]],
  ['no more than the burst at once', [0, 0, 0, 0], [true, true, true, false]],
  ['one more as soon as it is due', [0, 0, 0, 499, 500], [true, true, true, false, true]],
  ['a steady rate after the burst', [0, 0, 0, 500, 999, 1_000], [true, true, true, true, false, true]],
  ['no larger burst after a long rest', [9e6, 9e6, 9e6, 9e6], [true, true, true, false]],
])('a bucket with a burst of three and two per second admits %s', (_, times, expected) => {
  const bucket = new TokenBucket({ burst: 3, perSecond: 2 }, 0);
  expect(times.map((at) => bucket.take(at))).toEqual(expected);
});

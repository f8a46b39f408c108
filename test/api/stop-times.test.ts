import { describe, expect, test } from 'vitest';
import { stopTimes } from '../../src/api/stop-times.ts';
import { BadSettings } from '../../src/settings/settings.ts';

describe('the time to stop', () => {
  test.each([
    ['by default', 0, 25_000, { delayMs: 0, deadlineMs: 23_000, closingMs: 1_000 }],
    ['with a delay', 22_000, 25_000, { delayMs: 22_000, deadlineMs: 23_000, closingMs: 1_000 }],
    ['that is short', 0, 1_000, { delayMs: 0, deadlineMs: 800, closingMs: 100 }],
    ['that is short, with a delay', 3_000, 5_000, { delayMs: 3_000, deadlineMs: 4_000, closingMs: 500 }],
  ])('%s leaves some for the steps after the requests', (_, shutdownDelayMs, shutdownTimeoutMs, times) => {
    expect(stopTimes({ shutdownDelayMs, shutdownTimeoutMs })).toEqual(times);
  });

  test.each([
    [22_001, 25_000, '3s'],
    [1, 1_000, '1.2s'],
  ])('a delay of %i ms in %i ms is refused', (shutdownDelayMs, shutdownTimeoutMs, least) => {
    const refusal = new BadSettings(`SHUTDOWN_DELAY must be shorter than SHUTDOWN_TIMEOUT, by ${least}`);
    expect(() => stopTimes({ shutdownDelayMs, shutdownTimeoutMs })).toThrow(refusal);
  });
});

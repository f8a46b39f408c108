/** What follows from several settings at once. */
import { describe, expect, test, vi } from 'vitest';
import { connectionLimits, stopTimes } from '../../src/api/start-limits.ts';
import { CannotStart } from '../../src/settings/cannot-start.ts';
import { BadSettings } from '../../src/settings/settings.ts';

describe('the time to stop', () => {
  test.each([
    ['by default', 0, 25_000, { delayMs: 0, deadlineMs: 23_000, closingMs: 1_000 }],
    ['with a delay', 22_000, 25_000, { delayMs: 22_000, deadlineMs: 23_000, closingMs: 1_000 }],
    ['that is short', 0, 1_000, { delayMs: 0, deadlineMs: 800, closingMs: 100 }],
    ['that is short, with a delay', 3_000, 5_000, { delayMs: 3_000, deadlineMs: 4_000, closingMs: 500 }],
  ])('%s leaves some for what comes after the requests', (_, shutdownDelayMs, shutdownTimeoutMs, times) => {
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

describe('the connections', () => {
  const limitsOf = (settings: { maxConnections: number; maxConnectionsPerAddress?: number }, descriptors: number) => {
    const warn = vi.fn<(about: object, message: string) => void>();
    const limits = connectionLimits(
      { poolSize: 20, maxConnectionsPerAddress: undefined, ...settings },
      descriptors,
      warn,
    );
    return { limits, warnings: warn.mock.calls };
  };

  test('are as many as they may be, and half as many of one address, rounded up', () => {
    const limits = { most: 101, surplus: 64, perAddress: 51 };
    expect(limitsOf({ maxConnections: 101 }, 1_000_000)).toEqual({ limits, warnings: [] });
  });

  test('of one address are as many as the setting says', () => {
    const { limits } = limitsOf({ maxConnections: 101, maxConnectionsPerAddress: 7 }, 1_000_000);
    expect(limits.perAddress).toBe(7);
  });

  test('are fewer where files are few, which is told', () => {
    const { limits, warnings } = limitsOf({ maxConnections: 10_000 }, 300);
    expect(limits).toEqual({ most: 189, surplus: 27, perAddress: 95 });
    const about = { max_connections: 189, configured: 10_000, open_files: 300 };
    expect(warnings).toEqual([[about, expect.stringContaining('MAX_CONNECTIONS (ulimit -n)')]]);
  });

  test('may be one, and not none', () => {
    expect(limitsOf({ maxConnections: 1 }, 1_000_000).limits.most).toBe(1);
    const none = () => limitsOf({ maxConnections: 1 }, 84);
    expect(none).toThrow(CannotStart);
    expect(none).toThrow(/^DATABASE_POOL_SIZE: with 20 connections to the database, the 84 files/);
  });
});

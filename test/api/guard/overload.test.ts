/** When a process considers itself overloaded, with a fake clock and fake measurements. */
import Fastify from 'fastify';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type LoadLimits, shedLoad } from '../../../src/api/guard/load-shedding.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const SAMPLE_MS = 5000;
const NO_LIMITS: LoadLimits = { eventLoopDelayMs: 0, rssBytes: 0, sampleMs: SAMPLE_MS };

/** An API with a fake event-loop delay, set by `sample`. Without a sample, the loop counts as not having turned. */
function start(limits: Partial<LoadLimits>) {
  const delay = {
    mean: Number.NaN,
    isOn: false,
    enable: () => turnOn(true),
    disable: () => turnOn(false),
    reset: () => {
      delay.mean = Number.NaN;
    },
  };
  function turnOn(isOn: boolean): boolean {
    delay.isOn = isOn;
    return true;
  }
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('documentedPath', 'as before');
  shedLoad(app, { ...NO_LIMITS, ...limits }, delay);
  app.get('/documented', { config: { documentedPath: '/{documented}' } }, () => 'x');
  app.get('/other', () => 'x');
  return {
    app,
    delay,
    status: async (path = '/documented') => (await app.inject(path)).statusCode,
    /** Takes a sample in which the loop was this late on average. */
    sample(lateMs: number) {
      // The measured delay includes the pause between two measurements.
      delay.mean = (lateMs + 10) * 1e6;
      vi.advanceTimersByTime(SAMPLE_MS);
    },
  };
}

describe('requests are refused', () => {
  test('while the event loop is late', async () => {
    const { status, sample, delay } = start({ eventLoopDelayMs: 100 });
    expect(delay.isOn).toBe(true);
    expect(await status()).toBe(200);
    sample(101);
    expect(await status()).toBe(503);
    sample(100);
    expect(await status()).toBe(200);
    // The loop has not turned even once.
    vi.advanceTimersByTime(SAMPLE_MS);
    expect(await status()).toBe(503);
  });

  test('while the process is above its memory limit', async () => {
    const { status, sample } = start({ rssBytes: 1000 });
    const rss = vi.spyOn(process.memoryUsage, 'rss').mockReturnValue(1001);
    expect(await status()).toBe(200);
    sample(50);
    expect(await status()).toBe(503);
    rss.mockReturnValue(1000);
    sample(50);
    expect(await status()).toBe(200);
  });
});

test('no request is refused if the memory cannot be measured', async () => {
  const { status, sample } = start({ eventLoopDelayMs: 100, rssBytes: 1000 });
  vi.spyOn(process.memoryUsage, 'rss').mockImplementation(() => {
    throw new Error('EMFILE');
  });
  sample(0);
  expect(await status()).toBe(200);
});

test('no request is refused if there is no limit', async () => {
  const { status, sample } = start({ eventLoopDelayMs: 100 });
  vi.spyOn(process.memoryUsage, 'rss').mockReturnValue(Number.MAX_VALUE);
  sample(0);
  expect(await status()).toBe(200);
  const none = start({});
  none.sample(1e6);
  expect(await none.status()).toBe(200);
});

test('measuring stops when the API is closed', async () => {
  const { app, delay } = start({ eventLoopDelayMs: 100 });
  await app.close();
  expect(delay.isOn).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

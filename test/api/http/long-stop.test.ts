import { afterEach, expect, test, vi } from 'vitest';
import { startTestApi } from '../harness.ts';

afterEach(() => void vi.useRealTimers());

test('a stop may be delayed for as long as it is told to be, and nothing but its deadline ends it', async () => {
  const { app } = await startTestApi({ shutdown: { delayMs: 600_000, deadlineMs: 500_000 } });
  await app.listen({ port: 0, host: '127.0.0.1' });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const turn = () => new Promise<string>((next) => setImmediate(() => next('not yet')));
  const stopped = app.close().then(() => 'stopped');
  while (vi.getTimerCount() === 0) await turn();
  vi.advanceTimersByTime(499_999);
  expect([await Promise.race([stopped, turn()]), app.server.listening]).toEqual(['not yet', true]);
  vi.advanceTimersByTime(1);
  expect(await stopped).toBe('stopped');
});

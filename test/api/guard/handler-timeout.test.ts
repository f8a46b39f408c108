import Fastify, { type FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { limitHandlers } from '../../../src/api/guard/handler-timeout.ts';

const LIMIT_MS = 25_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** Sets the clock forward while a handler runs, instead of waiting. */
const takeLong = () => void vi.advanceTimersByTime(2 * LIMIT_MS);

function start(limitMs: number) {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const loggerInstance: FastifyBaseLogger = pino({ level: 'warn' }, { write });
  const app = Fastify({ loggerInstance });
  onTestFinished(async () => void (await app.close()));
  limitHandlers(app, limitMs);
  app.get('/never', () => {
    takeLong();
    return new Promise(() => {});
  });
  app.get('/late', async () => {
    takeLong();
    return 'late';
  });
  app.get('/begun', (_, reply) => {
    reply.hijack().raw.write('begun');
    takeLong();
    reply.raw.end(' and ended');
  });
  return { app, lines };
}

test('a request whose handler takes too long gets a response that allows a retry', async () => {
  const { app } = start(LIMIT_MS);
  const { headers, body } = await app.inject('/never');
  expect(headers['retry-after']).toBe('1');
  expect(body).toContain('whether it took effect is unknown');
});

test('a response that has begun is left alone', async () => {
  const { app, lines } = start(LIMIT_MS);
  expect((await app.inject('/begun')).body).toBe('begun and ended');
  expect(lines).toEqual([]);
});

test('a limit of 0 means no limit', async () => {
  const { app, lines } = start(0);
  expect((await app.inject('/late')).body).toBe('late');
  expect(lines).toEqual([]);
});

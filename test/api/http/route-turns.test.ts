/** When the requests of a route have their turns, and what becomes of those that nobody waits for any more. */
import type { FastifyReply } from 'fastify';
import { describe, expect, test } from 'vitest';
import { notFound, rateLimited } from '../../../src/api/errors/errors.ts';
import type { Call } from '../../../src/api/http/operation.ts';
import { settled, startRoute } from './one-route.ts';

describe('of one key', () => {
  /** An operation whose requests wait until they are told to go on. */
  async function held(handle: (call: Call, go: Promise<void>) => Promise<void> = (_, go) => go) {
    const gates: PromiseWithResolvers<void>[] = [];
    const api = await startRoute({
      async handle(call) {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        await handle(call, gate.promise);
        return {};
      },
    });
    return { ...api, begun: () => gates.length, go: (n: number) => gates[n]?.resolve() };
  }

  test('one request has its turn at a time, and those of others do not wait for it', async () => {
    const { ask, begun, go } = await held();
    const first = ask();
    await settled();
    const [second, other] = [ask(), ask({ id: 'another' })];
    await settled();
    expect(begun()).toBe(2);
    go(1);
    expect((await other).statusCode).toBe(200);
    expect(begun()).toBe(2);
    go(0);
    expect((await first).statusCode).toBe(200);
    await settled();
    go(2);
    expect((await second).statusCode).toBe(200);
  });

  test('one request that fails, or whose owner has no turn left, ends its turn', async () => {
    const { ask, shares } = await startRoute({ handle: () => Promise.reject(notFound('no such thing')) });
    expect((await ask()).statusCode).toBe(404);
    const { take } = shares.owners;
    shares.owners.take = () => Promise.reject(rateLimited(1, 'too many'));
    expect((await ask()).statusCode).toBe(429);
    shares.owners.take = take;
    expect((await ask()).statusCode).toBe(404);
  });

  test('another request has its turn while one does without, which then waits for the next', async () => {
    const done: string[] = [];
    const { ask, begun, go } = await held(async ({ outOfTurn }, released) => {
      if (begun() > 1) return released;
      done.push(await outOfTurn(() => released.then(() => 'made')));
    });
    const first = ask();
    await settled();
    const second = ask();
    await settled();
    expect(begun()).toBe(2);
    go(0);
    await settled();
    expect(done).toEqual([]);
    go(1);
    await Promise.all([first, second]);
    expect(done).toEqual(['made']);
  });

  test('a request whose client goes away while it waits for its turn is not handled', async () => {
    const { ask, begun, go, replies } = await held();
    const [first, second] = [ask(), ask()];
    await settled();
    const [, gone] = replies;
    if (gone) gone.isOver = true;
    go(0);
    expect((await first).statusCode).toBe(200);
    expect((await second).statusCode).toBe(499);
    expect(begun()).toBe(1);
  });
});

describe('a request that nobody waits for any more', () => {
  const END: Record<string, (reply: FastifyReply | undefined) => void> = {
    'because its client has gone': (reply) => {
      if (reply) reply.isOver = true;
    },
    'because it has been answered': (reply) => void reply?.send('late'),
  };

  test.each(Object.entries(END))('%s, does not go on after what it does without a turn', async (_, end) => {
    const done: string[] = [];
    const { ask, replies, lines } = await startRoute({
      async handle({ outOfTurn }) {
        await outOfTurn(async () => {
          await settled();
          end(replies[0]);
        });
        done.push('more');
        return {};
      },
    });
    await ask();
    await settled();
    expect([done, lines]).toEqual([[], []]);
  });

  test.each(Object.entries(END))('%s, can know it while it does that', async (_, end) => {
    const done: string[] = [];
    const { ask, replies } = await startRoute({
      async handle({ outOfTurn }) {
        await outOfTurn(async (mustBeAwaited) => {
          mustBeAwaited();
          done.push('awaited');
          end(replies[0]);
          mustBeAwaited();
          done.push('more');
        });
        return {};
      },
    });
    await ask();
    await settled();
    expect(done).toEqual(['awaited']);
  });

  test('has no second answer, whether it succeeds or fails; a failure is in the log', async () => {
    const results = [async () => ({ body: {} }), () => Promise.reject(new Error('broken'))];
    for (const [index, result] of results.entries()) {
      const { ask, replies, lines } = await startRoute({
        async handle() {
          replies[0]?.send('late');
          return result();
        },
      });
      expect((await ask()).body).toBe('late');
      await settled();
      expect(lines.map((line) => JSON.parse(line).err?.message)).toEqual(index === 0 ? [] : ['broken']);
    }
  });
});

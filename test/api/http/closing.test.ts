/** What becomes of connections and the requests on them while the server closes. */
import { createServer } from 'node:http';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { LINGER, lingerOnClose } from '../../../src/api/http/lingering.ts';
import { inLine, PIPELINING_LIMITS } from '../../../src/api/http/pipelining.ts';
import { addShutdown, SHUTDOWN, type ShutdownTimes } from '../../../src/api/http/shutdown.ts';
import { atEnd } from '../harness.ts';
import { endings, open, request, untilRefused } from './api-child.ts';

const LARGE = Buffer.alloc(40_000_000, 'x');

/** What has to do with connections alone, around routes of our own. */
async function start(quietMs: number, times: Partial<ShutdownTimes> = {}) {
  const handled: string[] = [];
  const app = Fastify({
    forceCloseConnections: false,
    return503OnClosing: false,
    serverFactory: (handle) => createServer(inLine(handle, PIPELINING_LIMITS, { warn: () => undefined })),
  });
  lingerOnClose(app.server, LINGER);
  // Nothing here is for the deadline to end.
  addShutdown(app, { ...SHUTDOWN, quietMs, deadlineMs: 600_000, ...times });
  app.get('/small', async () => {
    handled.push('/small');
    return 'small';
  });
  const released = Promise.withResolvers<string>();
  app.get('/held', () => {
    handled.push('/held');
    return released.promise;
  });
  app.get('/large', async () => LARGE);
  await app.listen({ host: '127.0.0.1', port: 0 });
  atEnd(() => app.close());
  return { app, handled, release: () => released.resolve('held'), port: Number(new URL(app.listeningOrigin).port) };
}

test('an answer is sent to its last byte, however slowly it is read', async () => {
  const { app, port } = await start(0);
  const slow = await open({ port });
  slow.socket.write(request('/large'));
  await slow.until(/\r\n\r\nx/);
  slow.socket.pause();
  const closed = app.close();
  await untilRefused({ port });
  expect(slow.received().length).toBeLessThan(LARGE.length);
  slow.socket.resume();
  expect(await slow.untilEnded()).toBe('closed');
  expect(slow.received().length - slow.received().indexOf('\r\n\r\n') - 4).toBe(LARGE.length);
  await closed;
});

test('a request on a connection that was used a moment ago is answered, and ends it', async () => {
  const { app, port } = await start(60_000);
  const [used, fresh] = [await open({ port }), await open({ port })];
  used.socket.write(request('/small'));
  await used.until(/small$/);
  const closed = app.close();
  await untilRefused({ port });
  for (const peer of [used, fresh]) {
    peer.socket.write(request('/small'));
    expect(await peer.untilEnded()).toBe('closed');
    expect(peer.received()).toMatch(/connection: close\r\n[\s\S]*small$/i);
  }
  await closed;
});

test('the answer under way ends its connection', async () => {
  const { app, port, handled, release } = await start(0);
  const peer = await open({ port });
  peer.socket.write(request('/held'));
  await waitFor('the request', () => handled.length > 0);
  const closed = app.close();
  await untilRefused({ port });
  release();
  expect(await peer.untilEnded()).toBe('closed');
  expect(endings(peer)).toEqual(['close']);
  await closed;
});

test('clients that open one connection after the other do not hold it up', async () => {
  const { app, port } = await start(0);
  const comers = setInterval(
    () =>
      void open({ port }).then(
        ({ socket }) => socket.destroy(),
        () => undefined,
      ),
    5,
  );
  await app.close();
  clearInterval(comers);
});

test('a request on a connection that is closed already does not take effect', async () => {
  const { app, port, handled } = await start(0);
  const late = await open({ port, halfOpen: true });
  late.socket.write(request('/small'));
  await late.until(/small$/);
  const closed = app.close();
  await new Promise((ended) => late.socket.once('end', ended));
  late.socket.write(request('/small'));
  await closed;
  expect(handled).toEqual(['/small']);
  expect(late.received()).toMatch(/small$/);
});

test.each<[string, Partial<ShutdownTimes>]>([
  ['until clients have gone elsewhere', { delayMs: 600_000 }],
  ['until nobody connects', { settledMs: 600_000 }],
])('the deadline ends the wait %s', async (_, times) => {
  const { app, port } = await start(60_000, { deadlineMs: 50, ...times });
  const peer = await open({ port });
  await app.close();
  expect(await peer.untilEnded()).toBe('closed');
});

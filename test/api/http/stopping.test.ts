/** What each step of a stop does to connections and the requests on them. */
import Fastify from 'fastify';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { addShutdown, MOST_SETTLING_MS, SHUTDOWN } from '../../../src/api/http/shutdown.ts';
import { type Peer, request } from './api-child.ts';
import { answered, DELAY_MS, endings, pause, pauses, startServer } from './one-stop.ts';

describe('a stop', () => {
  test('begins when the API is told to close, and is over at once if it does not listen', async () => {
    const app = Fastify();
    const shutdown = addShutdown(app, SHUTDOWN);
    expect(shutdown.hasBegun()).toBe(false);
    await app.close();
    expect(shutdown.hasBegun()).toBe(true);
    expect(pauses).toEqual([]);
  });

  test('waits until nobody has connected for a while, and sends nobody away meanwhile', async () => {
    const { app, connect } = await startServer({ settledMs: 7 });
    const closed = app.close();
    expect((await pause(0)).ms).toBe(7);
    const peer = await connect();
    peer.socket.write(request('/small'));
    await answered(peer, 1);
    (await pause(0)).end();
    (await pause(1)).end();
    await waitFor('the end of listening', () => !app.server.listening);
    peer.socket.write(request('/small'));
    expect(await peer.untilEnded()).toBe('closed');
    expect(endings(peer)).toEqual(['nothing', 'close']);
    await closed;
    expect(pauses).toHaveLength(2);
  });

  test('does not wait for nobody', async () => {
    const { app } = await startServer();
    const closed = app.close();
    (await pause(0)).end();
    await closed;
    expect(pauses).toHaveLength(1);
  });

  test('waits so often at most, if there always is somebody new', async () => {
    const { app, connect } = await startServer();
    const closed = app.close();
    const rounds = MOST_SETTLING_MS / SHUTDOWN.settledMs;
    const peers: Peer[] = [];
    for (let n = 0; n < rounds; n++) {
      const { end } = await pause(n);
      peers.push(await connect());
      end();
    }
    await waitFor('the end of listening', () => !app.server.listening);
    for (const { socket } of peers) socket.destroy();
    await closed;
    expect(pauses).toHaveLength(rounds);
  });

  test('sends everybody away while it is delayed, and nobody after that until it has settled', async () => {
    const { app, connect, release, handled } = await startServer({ delayMs: DELAY_MS });
    const [held, used] = [await connect(), await connect()];
    held.socket.write(request('/held') + request('/held'));
    await waitFor('the requests', () => handled.length === 2);
    used.socket.write(request('/small'));
    await answered(used, 1);
    const closed = app.close();
    expect((await pause(0)).ms).toBe(DELAY_MS);
    release();
    used.socket.write(request('/small').repeat(3));
    for (const peer of [held, used]) expect(await peer.untilEnded()).toBe('closed');
    expect(endings(held)).toEqual(['keep-alive', 'close']);
    // Of those that came together, the last one.
    expect(endings(used)).toEqual(['keep-alive', 'nothing', 'nothing', 'close']);
    (await pause(0)).end();
    await pause(1);
    const late = await connect();
    late.socket.write(request('/small'));
    await answered(late, 1);
    expect(endings(late)).toEqual(['nothing']);
    late.socket.destroy();
    (await pause(1)).end();
    (await pause(2)).end();
    await closed;
  });

  test('answers nothing behind an answer that says it is the last, not even later', async () => {
    const { app, begun, connect, handled, read } = await startServer({ delayMs: DELAY_MS });
    const peer = await connect();
    const closed = app.close();
    await pause(0);
    peer.socket.write(request('/begun'));
    await peer.until(/begun/);
    const behind = async () => {
      const before = read();
      peer.socket.write(request('/small'));
      await waitFor('the request', () => read() > before);
    };
    await behind();
    (await pause(0)).end();
    (await pause(1)).end();
    await waitFor('the end of listening', () => !app.server.listening);
    await behind();
    begun.push(null);
    expect(await peer.untilEnded()).toBe('closed');
    await closed;
    expect(handled).toEqual(['/begun']);
    expect(endings(peer)).toEqual(['close']);
  });
});

test('before the stop, what others say of a connection is left alone', async () => {
  const { app, connect } = await startServer();
  app.server.prependListener('request', (_, answer) => answer.setHeader('connection', 'close'));
  const peer = await connect();
  peer.socket.write(request('/small'));
  expect(await peer.untilEnded()).toBe('closed');
  expect(endings(peer)).toEqual(['close']);
});

/** Which connections a stop closes for doing nothing, and which it cuts in the end. */
import { Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { type Peer, request } from './api-child.ts';
import { answered, pause, QUIET_MS, startServer } from './one-stop.ts';

describe('a connection is closed for doing nothing', () => {
  const pass = (app: { server: { closeIdleConnections(): void } }, ms: number) => {
    vi.advanceTimersByTime(ms);
    app.server.closeIdleConnections();
  };

  test('if nothing has come of it for long enough, or since its last answer', async () => {
    const { app, connect, isOpen } = await startServer();
    const fresh = await connect();
    pass(app, QUIET_MS);
    expect(isOpen()).toBe(true);
    pass(app, 1);
    expect(await fresh.untilEnded()).toBe('closed');
    const used = await connect();
    vi.advanceTimersByTime(QUIET_MS);
    used.socket.write(request('/small'));
    await answered(used, 1);
    pass(app, QUIET_MS);
    expect(isOpen()).toBe(true);
    pass(app, 1);
    expect(await used.untilEnded()).toBe('closed');
  });

  test('not while it has an answer to come, nor while a request arrives', async () => {
    const { app, connect, isOpen, handled, release, read } = await startServer();
    const peer = await connect();
    peer.socket.write(request('/held'));
    await waitFor('the request', () => handled.length === 1);
    pass(app, 10 * QUIET_MS);
    expect(isOpen()).toBe(true);
    release();
    await peer.until(/held$/);
    const before = read();
    peer.socket.write('GET /small HTTP/1.1\r\n');
    await waitFor('its beginning', () => read() > before);
    pass(app, 10 * QUIET_MS);
    expect(isOpen()).toBe(true);
    peer.socket.write('host: a\r\n\r\n');
    await answered(peer, 1);
    pass(app, QUIET_MS + 1);
    expect(await peer.untilEnded()).toBe('closed');
  });

  test('also when its last request had a body', async () => {
    const { app, connect } = await startServer();
    const peer = await connect();
    const headers = { 'content-type': 'application/json', 'content-length': '2' };
    peer.socket.write(request('/small', { method: 'POST', headers, body: '{}' }));
    await answered(peer, 1);
    pass(app, QUIET_MS + 1);
    expect(await peer.untilEnded()).toBe('closed');
  });

  const answeredEarly = async ({ connect }: Awaited<ReturnType<typeof startServer>>) => {
    const peer = await connect();
    const headers = { 'content-type': 'application/json', 'content-length': '4' };
    peer.socket.write(request('/early', { method: 'POST', headers, body: '{' }));
    await peer.until(/early$/);
    return peer;
  };

  test('also when the body of its last request came after the answer', async () => {
    const server = await startServer();
    const { app, read } = server;
    const peer = await answeredEarly(server);
    const before = read();
    peer.socket.write('  }');
    await waitFor('its end', () => read() > before);
    const closed = peer.untilEnded();
    await waitFor('the end of ours', () => {
      pass(app, QUIET_MS + 1);
      return !server.isOpen();
    });
    expect(await closed).toBe('closed');
  });

  test('not sooner when a request comes behind such a body', async () => {
    const server = await startServer();
    const { app, isOpen } = server;
    const peer = await answeredEarly(server);
    let isRead = false;
    app.server.prependListener('request', () => {
      isRead = true;
    });
    vi.advanceTimersByTime(QUIET_MS);
    // It has been read when that which comes behind it is.
    peer.socket.write(`  }${request('/small')}`);
    await waitFor('its end', () => isRead);
    await answered(peer, 1);
    pass(app, QUIET_MS);
    expect(isOpen()).toBe(true);
    pass(app, 1);
    expect(await peer.untilEnded()).toBe('closed');
  });
});

describe('at the deadline', () => {
  const cutLines = (lines: string[]) => lines.map((line) => JSON.parse(line)).map(({ connections }) => connections);

  test.each([0, 1, 2])('%i connections that are still in use are cut, which the log says', async (count) => {
    const { app, connect, cut, lines, handled } = await startServer();
    const gone = await connect();
    gone.socket.write(request('/small'));
    await answered(gone, 1);
    gone.socket.destroy();
    await waitFor(
      'its end',
      () => new Promise<boolean>((resolve) => app.server.getConnections((_, n) => resolve(n === 0))),
    );
    const peers: Peer[] = [];
    for (let n = 0; n < count; n++) peers.push(await connect());
    for (const { socket } of peers) socket.write(request('/held'));
    await waitFor('the requests', () => handled.length === 1 + count);
    const closed = app.close();
    await pause(0);
    cut();
    for (const peer of peers) expect(await peer.untilEnded()).not.toBeUndefined();
    // Whoever is accepted now comes too late.
    const late = new Socket();
    app.server.emit('connection', late);
    expect(late.destroyed).toBe(true);
    await closed;
    expect(cutLines(lines)).toEqual(count === 0 ? [] : [count]);
  });

  test('a connection that has been closed, and whose client has not done so, is not in use', async () => {
    const { app, connect, cut, lines, isOpen } = await startServer();
    await connect(true);
    vi.advanceTimersByTime(QUIET_MS + 1);
    app.server.closeIdleConnections();
    await waitFor('the end of ours', () => !isOpen());
    const closed = app.close();
    await pause(0);
    cut();
    await closed;
    expect(lines).toEqual([]);
  });
});

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Agent } from 'undici';
import { expect, test } from 'vitest';
import { httpRequest } from '../src/http-request.ts';
import { atEnd } from './end-of-file.ts';

/** Sends the chunks when the first bytes of a request arrive. */
async function serverSending(...chunks: (string | Buffer)[]) {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.setNoDelay().on('error', () => {});
    socket.on('data', async (data) => {
      requests.push(data.toString());
      for (const chunk of chunks) {
        socket.write(chunk);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const dispatcher = new Agent({ connections: 1 });
  atEnd(async () => {
    await dispatcher.destroy();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const get = (path: string, signal?: AbortSignal) =>
    httpRequest(dispatcher, { origin: `http://127.0.0.1:${port}`, path, method: 'GET' }, { signals: [signal] });
  return { get, requests };
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n';

test('the text is whole, even if a character is split between chunks', async () => {
  const text = Buffer.from('a€bc');
  const { get } = await serverSending(OK, text.subarray(0, 2), text.subarray(2));
  expect(await get('/')).toMatchObject({ statusCode: 200, headers: { 'content-length': '6' }, text: 'a€bc' });
});

test('an informational response is not the answer', async () => {
  const { get } = await serverSending('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', `${OK}answer`);
  expect(await get('/')).toMatchObject({ statusCode: 200, text: 'answer' });
});

test('an aborted request that waits for a connection ends at once, and is never sent', async () => {
  const { get, requests } = await serverSending();
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [get('/first', first.signal), get('/second', second.signal)];
  second.abort(new Error('enough'));
  await expect(waiting[1]).rejects.toThrow('enough');
  await expect.poll(() => requests.length).toBe(1);
  first.abort(new Error('enough of this one'));
  await expect(waiting[0]).rejects.toThrow('enough of this one');
  await expect(get('/', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  expect(requests.join()).not.toContain('/second');
});

/** How a request body is read and charged. */
import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { overloaded } from '../../../src/api/errors/errors.ts';
import { SHARED } from '../../../src/api/guard/bytes-in-flight.ts';
import { answerError } from '../../../src/api/http/error-handler.ts';
import { readBodies } from '../../../src/api/http/request-body.ts';
import { open } from '../guard/api-child.ts';

const LIMIT = 20;
/** The cost of a piece besides its bytes. */
const PIECE = 512;

/** @param room how many times bytes may be added */
async function start(room = Number.POSITIVE_INFINITY) {
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('charge', null);
  app.decorateRequest('reasons', null);
  app.decorate('noteRefusal', () => undefined);
  app.setErrorHandler(answerError);
  const added: number[] = [];
  const add = (bytes: number) => {
    if (added.length >= room) throw overloaded('full');
    added.push(bytes);
  };
  readBodies(app, LIMIT, { ofAddress: () => ({ ...SHARED, add }) });
  app.post('/', async ({ body }) => ({ body }));
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const peer = await open({ port: Number(port) });
  // Runs before the server is closed, which would wait for the rest of an announced body.
  onTestFinished(() => void peer.socket.destroy());
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  return {
    added,
    peer,
    send(pieces: readonly string[], type = 'application/json') {
      const head = `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`;
      peer.socket.write(`${head}${pieces.map(chunk).join('')}${chunk('')}`);
    },
  };
}

test('each piece of a body is charged, and so is the parsed value', async () => {
  const { added, peer, send } = await start();
  send(['{"a"', ':1', '}']);
  await peer.until(/\{"body":\{"a":1\}\}/);
  expect(added.slice(0, 3)).toEqual([4 + PIECE, 2 + PIECE, 1 + PIECE]);
  expect(added).toHaveLength(4);
});

test.each<[string, Parameters<Awaited<ReturnType<typeof start>>['send']>, number, number?]>([
  ['at the size limit', [[JSON.stringify('x'.repeat(LIMIT - 2))]], 200],
  ['above the size limit', [['x'.repeat(LIMIT), 'y']], 413],
  ['for which there is no room', [['{}', ' ']], 503, 1],
  ['of an unsupported type', [['a=b'], 'text/plain'], 415],
  ['that is empty, of an unsupported type', [[], 'text/plain'], 200],
  ['in an unsupported charset', [['{}'], 'application/json; charset=latin1'], 415],
])('a body %s leaves the connection usable', async (_, sent, status, room) => {
  const { peer, send } = await start(room);
  send(...sent);
  await peer.until(new RegExp(`^HTTP/1.1 ${status} `));
  send(['2']);
  await peer.until(/HTTP\/1.1 (?:200|503) [\s\S]*HTTP\/1.1 |HTTP\/1.1 4\d\d [\s\S]*HTTP\/1.1 200/);
});

test.each([LIMIT + 1, 1024 ** 3])('a body that announces %i bytes is refused before it arrives', async (length) => {
  const { peer } = await start();
  peer.socket.write(
    `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
  );
  await peer.until(/^HTTP\/1.1 413 /);
});

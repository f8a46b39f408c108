/** How a body is read, from a socket, without the API. */
import { createServer, IncomingMessage } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { invalidByRule, overloaded } from '../../../src/api/errors/errors.ts';
import { readBody, refuseBody } from '../../../src/api/http/body.ts';
import type { Charge } from '../../../src/api/http/bytes-in-flight.ts';

const LIMIT = 10;
const CHUNKED = 'transfer-encoding: chunked';
/** What each piece costs beside its bytes. */
const PIECE = 512;

/** Takes everything, and keeps what it was asked to add; or refuses all beyond a number of pieces. */
function counting(most = Number.POSITIVE_INFINITY): Charge & { added: number[] } {
  const added: number[] = [];
  const add = (bytes: number) => {
    if (added.length >= most) throw overloaded('full');
    added.push(bytes);
  };
  return { isOver: false, added, add, hold: add, check: () => {}, release: () => {}, end: () => {} };
}

/** Sends the pieces one by one, each once the one before it has been read, and reads them as a body. */
async function reading(headers: string, pieces: readonly string[], charge = counting(), { cut = false } = {}) {
  const read = Promise.withResolvers<{ outcome: Promise<unknown>; raw: IncomingMessage }>();
  const server = createServer((raw) => {
    const outcome = readBody({ headers: raw.headers, raw }, LIMIT, charge).then(String, (error: unknown) => error);
    read.resolve({ outcome, raw });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  socket.on('error', () => {});
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\n${headers}\r\n\r\n`);
  const { outcome, raw } = await read.promise;
  const chunked = headers === CHUNKED;
  for (const [index, piece] of pieces.entries()) {
    socket.write(chunked ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece);
    await waitFor(
      'the piece to be read',
      () => charge.added.length > index || raw.listenerCount('data') === 0 || undefined,
    );
  }
  if (cut) socket.destroy();
  else if (chunked) socket.write('0\r\n\r\n');
  return { outcome: await outcome, raw, added: charge.added };
}

describe('a body', () => {
  test('is read in pieces, each of which is charged with what it costs to hold it', async () => {
    const { outcome, added, raw } = await reading(CHUNKED, ['ab', 'c', 'defg']);
    expect(outcome).toBe('abcdefg');
    expect(added).toEqual([2 + PIECE, 1 + PIECE, 4 + PIECE]);
    expect(['data', 'end', 'error'].map((event) => raw.listeners(event).length)).toEqual([0, 0, 0]);
  });

  test.each([
    ['as long as it may be', ['x'.repeat(LIMIT)], 'x'.repeat(LIMIT)],
    ['none', [], ''],
  ])('may be %s', async (_, pieces, expected) => {
    expect((await reading(CHUNKED, pieces)).outcome).toBe(expected);
  });

  test('that is longer ends there, and the last piece is not held', async () => {
    const { outcome, added } = await reading(CHUNKED, ['x'.repeat(LIMIT), 'y', 'z']);
    expect(outcome).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(added).toEqual([LIMIT + PIECE]);
  });

  test('may announce to be as long as it may be', async () => {
    expect((await reading(`content-length: ${LIMIT}`, ['x'.repeat(LIMIT)])).outcome).toBe('x'.repeat(LIMIT));
  });

  test('that announces to be longer is not read at all', async () => {
    const { outcome, added } = await reading(`content-length: ${LIMIT + 1}`, []);
    expect(outcome).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(added).toEqual([]);
  });

  test('ends where there is no room for more', async () => {
    const { outcome, added } = await reading(CHUNKED, ['ab', 'c', 'd'], counting(1));
    expect(outcome).toMatchObject({ code: 'UNAVAILABLE' });
    expect(added).toEqual([2 + PIECE]);
  });

  test('whose client goes away in its middle is none', async () => {
    const { outcome } = await reading(CHUNKED, ['ab'], counting(), { cut: true });
    expect(outcome).toMatchObject({ name: 'RequestAborted' });
  });

  test('whose client has gone already is none', async () => {
    const { raw } = await reading(CHUNKED, ['ab'], counting(), { cut: true });
    await waitFor('the request to be over', () => raw.destroyed || undefined);
    const again = readBody({ headers: raw.headers, raw }, LIMIT, counting());
    await expect(again).rejects.toMatchObject({ name: 'RequestAborted' });
  });
});

describe('of a request that the parser has made', () => {
  /** Without a connection. What is pushed to `raw` has come. */
  function read(announced?: number) {
    const raw = new IncomingMessage(new Socket());
    const charge = { ...counting(), isOver: false };
    const headers = announced === undefined ? {} : { 'content-length': String(announced) };
    let settled: unknown;
    const outcome = readBody({ headers, raw }, LIMIT, charge).then(String, (error: unknown) => error);
    void outcome.then((value) => {
      settled = value;
    });
    const listeners = () => ['data', 'end', 'error'].map((event) => raw.listeners(event).length);
    return { raw, charge, outcome, settled: () => settled, listeners };
  }

  test.each([
    [0, ['a']],
    [3, ['ab']],
    [3, ['ab', 'cd']],
  ])('a body that is not the %i bytes that were announced is refused', async (announced, pieces) => {
    const { raw, outcome } = read(announced);
    for (const piece of [...pieces, null]) raw.push(piece);
    expect(await outcome).toMatchObject({ details: { 'Content-Length': 'differs from the length of the body' } });
  });

  test('a body is refused of which the parser can make nothing, whether it is being read or will be', async () => {
    const why = invalidByRule({ body: 'is no chunk' });
    const { raw, outcome, listeners } = read();
    raw.push('ab');
    await turn();
    refuseBody(raw, why);
    expect(await outcome).toBe(why);
    expect(listeners()).toEqual([0, 0, 0]);
    await expect(readBody({ headers: {}, raw }, LIMIT, counting())).rejects.toBe(why);
  });

  test.each([
    ['more comes', 'cd'],
    ['it ends', null],
  ])('nothing is held or said of a body when the request is over before %s', async (_, last) => {
    const { raw, charge, settled, listeners } = read();
    raw.push('ab');
    await turn();
    charge.isOver = true;
    raw.push(last);
    await turn();
    expect(charge.added).toEqual([2 + PIECE]);
    expect(listeners()).toEqual([0, 0, 0]);
    expect(settled()).toBeUndefined();
  });
});

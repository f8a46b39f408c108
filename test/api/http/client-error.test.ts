/** What becomes of a connection whose bytes the parser can make nothing of; without a network. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Fastify from 'fastify';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readBody } from '../../../src/api/http/body.ts';
import { answerClientError } from '../../../src/api/http/error-handler.ts';

interface Given {
  bytesRead?: number;
  /** A request whose body is still to come. */
  arriving?: boolean;
  /** An answer that is due: to the request that is arriving, or to one before it. */
  answering?: 'this' | 'before';
  headersSent?: boolean;
}

function connection({ bytesRead = 1, arriving, answering, headersSent = false }: Given = {}) {
  const socket = new Socket();
  Object.defineProperty(socket, 'bytesRead', { value: bytesRead });
  const write = vi.spyOn(socket, 'write').mockReturnValue(true);
  const closeSoon = vi.spyOn(socket, 'destroySoon').mockReturnValue();
  const incoming = new IncomingMessage(socket);
  incoming.complete = arriving !== true;
  const answer = new ServerResponse(answering === 'before' ? new IncomingMessage(socket) : incoming);
  if (headersSent) answer.writeHead(200);
  if (arriving !== undefined) Object.assign(socket, { parser: { incoming } });
  if (answering) Object.assign(socket, { _httpMessage: answer });
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  const refusals: string[] = [];
  app.decorate('logRefusal', (reason: string) => void refusals.push(reason));
  return {
    socket,
    incoming,
    answer,
    refusals,
    fail: (code: string) => answerClientError.call(app, Object.assign(new Error('x'), { code }), socket),
    written: () => write.mock.calls.map(([text]) => String(text)).join(''),
    isClosing: () => closeSoon.mock.calls.length > 0,
    closings: () => closeSoon.mock.calls.length,
  };
}

const untouched = { isClosing: false, destroyed: false, written: '', refusals: [] };
const stateOf = ({ isClosing, socket, written, refusals }: ReturnType<typeof connection>) => ({
  isClosing: isClosing(),
  destroyed: socket.destroyed,
  written: written(),
  refusals,
});

describe('instead of a request', () => {
  test.each([
    ['HPE_INVALID_METHOD', 400, { request: 'is not valid HTTP/1.1' }, undefined],
    ['HPE_HEADER_OVERFLOW', 400, { headers: 'are more than 8192 bytes or 100 lines' }, undefined],
    ['ERR_HTTP_REQUEST_TIMEOUT', 503, {}, '1'],
  ])('%s is answered, and the connection closed', (code, status, details, retryAfter) => {
    const peer = connection();
    peer.fail(code);
    const [head = '', body = ''] = peer.written().split('\r\n\r\n');
    const [line, ...lines] = head.split('\r\n');
    const headers = Object.fromEntries(lines.map((each) => each.split(': ')));
    const error = JSON.parse(body);
    expect(line).toBe(`HTTP/1.1 ${status} ${error.error_code}`);
    expect(headers).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'x-request-id': error.details.request_id,
      'service-version': '2',
      connection: 'close',
      ...(retryAfter && { 'retry-after': retryAfter }),
    });
    expect(error.details).toMatchObject(details);
    expect(peer.isClosing()).toBe(true);
    expect(peer.refusals).toEqual([error.msg]);
  });

  test('nothing is answered with nothing', () => {
    const peer = connection({ bytesRead: 0 });
    peer.socket.on('error', () => {});
    peer.fail('ERR_HTTP_REQUEST_TIMEOUT');
    expect(stateOf(peer)).toEqual({ ...untouched, destroyed: true });
  });
});

describe('nothing is done about', () => {
  test.each(['ECONNRESET', 'HPE_CLOSED_CONNECTION'])('%s', (code) => {
    const peer = connection();
    peer.fail(code);
    expect(stateOf(peer)).toEqual(untouched);
  });

  test('a connection that is being closed, or is', () => {
    const ending = connection();
    ending.socket.end();
    ending.fail('HPE_INVALID_METHOD');
    expect(stateOf(ending)).toEqual(untouched);
    const gone = connection();
    gone.socket.destroy();
    gone.fail('HPE_INVALID_METHOD');
    expect(stateOf(gone)).toEqual({ ...untouched, destroyed: true });
  });
});

describe('behind a request', () => {
  test('that is answered, the connection is closed after that', () => {
    const peer = connection({ arriving: false, answering: 'this' });
    peer.fail('HPE_INVALID_METHOD');
    // There may be more to answer before.
    expect(peer.answer.getHeader('connection')).toBeUndefined();
    peer.fail('HPE_INVALID_METHOD');
    expect(stateOf(peer)).toEqual(untouched);
    Object.assign(peer.socket, { _httpMessage: null });
    peer.answer.emit('close');
    expect(stateOf(peer)).toEqual({ ...untouched, isClosing: true });
    // However often the rest could not be read.
    expect(peer.closings()).toBe(1);
  });

  test.each([
    ['this', 'close'],
    ['before', undefined],
  ] as const)('whose body cannot be read, while the answer to %s is due', async (answering, header) => {
    const peer = connection({ arriving: true, answering });
    const body = readBody({ headers: {}, raw: peer.incoming }, 10, {
      isOver: false,
      add: () => {},
      hold: () => {},
      check: () => {},
      release: () => {},
      end: () => {},
    });
    peer.fail('HPE_INVALID_CHUNK_SIZE');
    await expect(body).rejects.toMatchObject({ details: { request: 'is not valid HTTP/1.1' } });
    expect(peer.answer.getHeader('connection')).toBe(header);
    expect(stateOf(peer)).toEqual(untouched);
  });

  test('whose answer has begun, the answer stays as it is', () => {
    const peer = connection({ arriving: true, answering: 'this', headersSent: true });
    peer.fail('HPE_INVALID_CHUNK_SIZE');
    expect(stateOf(peer)).toEqual(untouched);
  });

  test('that has been answered while its body still comes, the connection is closed', () => {
    const peer = connection({ arriving: true });
    peer.fail('HPE_INVALID_CHUNK_SIZE');
    expect(stateOf(peer)).toEqual({ ...untouched, isClosing: true });
  });
});

describe('in the middle of a request, the end of the other side', () => {
  test('is the end of the connection', () => {
    const peer = connection({ arriving: true, answering: 'this' });
    peer.fail('HPE_INVALID_EOF_STATE');
    expect(stateOf(peer)).toEqual({ ...untouched, destroyed: true });
  });

  test.each<Given>([
    { arriving: true, answering: 'before' },
    { arriving: true, answering: 'this', headersSent: true },
    { arriving: false, answering: 'this' },
  ])('lets the answers arrive that are due: %j', (given) => {
    const peer = connection(given);
    peer.fail('HPE_INVALID_EOF_STATE');
    expect(stateOf(peer)).toEqual(untouched);
  });
});

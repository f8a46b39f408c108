/**
 * Bounds the requests of one connection that are handled at once, and those that wait. Whoever sends hundreds without
 * waiting for answers (pipelining) would otherwise take the event loop, the database and the memory from those who wait.
 * Below Fastify, since what waits or is refused must cost next to nothing: docs/decisions/0024.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { refusalLog } from './refusal-log.ts';

export interface PipeliningLimits {
  /** Requests of a connection that are handled at once. Answers come in their order: more gain the client little. */
  atOnce: number;
  /** Requests of a connection that wait. */
  waiting: number;
  /** Of all connections together. */
  waitingInAll: number;
}

export const PIPELINING_LIMITS: PipeliningLimits = { atOnce: 8, waiting: 24, waitingInAll: 5_000 };

interface Line {
  readonly socket: Socket;
  readonly running: Map<ServerResponse, IncomingMessage>;
  /** Oldest first. */
  readonly waiting: { request: IncomingMessage; answer: ServerResponse }[];
}

/** So many of all that wait are started in a turn of the event loop: whoever sends one at a time comes first. */
const STARTS_A_TURN = 8;

/** Returns what hands requests to `handle` within the limits. */
export function inLine(
  handle: RequestListener,
  limits: PipeliningLimits,
  log: Pick<FastifyBaseLogger, 'warn'>,
): RequestListener {
  const lines = new WeakMap<Socket, Line>();
  /** At each index, the lines in which so many wait: to find the longest must not take a look at all of them. */
  const byLength: Set<Line>[] = [new Set()];
  /** Those that may start one of theirs, in that order. */
  const due = new Set<Line>();
  let isTurnDue = false;
  let waitingInAll = 0;
  const refused = refusalLog(
    log,
    { waiting: limits.waiting, in_all: limits.waitingInAll },
    {
      first: 'cutting connections: too many requests wait for answers to those before them (pipelining)',
      later: 'cut connections with too many requests in line',
    },
  );

  function open(socket: Socket): Line {
    const line: Line = { socket, running: new Map(), waiting: [] };
    lines.set(socket, line);
    socket.once('close', () => {
      empty(line);
      // Node forgets them if a CONNECT was the last: whoever waits for their end would wait for ever.
      for (const [answer, request] of line.running) {
        request.destroy();
        answer.destroy();
      }
    });
    return line;
  }

  /** After every change of who waits in it. */
  function count(line: Line, before: number): void {
    const now = line.waiting.length;
    waitingInAll += now - before;
    byLength[before]?.delete(line);
    if (now === 0) return;
    byLength[now] ??= new Set();
    byLength[now].add(line);
  }

  function empty(line: Line): void {
    const before = line.waiting.length;
    line.waiting.length = 0;
    count(line, before);
    due.delete(line);
  }

  function cut(line: Line): void {
    refused();
    // Not only when it has closed: until then, others would be cut for what it holds.
    empty(line);
    stopParsing(line.socket);
    line.socket.destroy();
  }

  /** This one, unless another is longer. */
  function longest(line: Line): Line {
    const [other] = byLength.findLast((all) => all.size > 0) ?? [];
    return other && other.waiting.length > line.waiting.length ? other : line;
  }

  function start(line: Line, request: IncomingMessage, answer: ServerResponse): void {
    line.running.set(answer, request);
    // After its last byte: an answer that nobody reads keeps its place.
    answer.once('close', () => {
      line.running.delete(answer);
      advance(line);
    });
    handle(request, answer);
  }

  /** Not at once: what is cut for what came with it should not have begun. */
  function advance(line: Line): void {
    if (line.waiting.length === 0 || line.running.size >= limits.atOnce) return;
    due.add(line);
    scheduleTurn();
  }

  function scheduleTurn(): void {
    if (isTurnDue) return;
    isTurnDue = true;
    setImmediate(turn);
  }

  function turn(): void {
    isTurnDue = false;
    for (const line of [...due.values().take(STARTS_A_TURN)]) {
      due.delete(line);
      const next = line.waiting.shift();
      if (!next) continue;
      count(line, line.waiting.length + 1);
      if (isAnswerable(next.request)) start(line, next.request, next.answer);
      else next.answer.destroy();
      advance(line);
    }
    // Whatever the first of them may do by now.
    if (due.size > 0) scheduleTurn();
  }

  return (request, answer) => {
    const { socket } = request;
    // Cut, or the last answer is out, if Node went on parsing all the same.
    if (!isAnswerable(request)) return;
    const line = lines.get(socket) ?? open(socket);
    if (line.running.size === 0 && line.waiting.length === 0) return start(line, request, answer);
    line.waiting.push({ request, answer });
    count(line, line.waiting.length - 1);
    if (line.running.size + line.waiting.length > limits.atOnce + limits.waiting) return cut(line);
    if (waitingInAll > limits.waitingInAll) cut(longest(line));
    // Nobody waits in it any more if it was the one.
    advance(line);
  };
}

/** What waits while we close our side must not take effect. */
const isAnswerable = ({ socket }: IncomingMessage) => !socket.destroyed && !socket.writableEnded;

/**
 * Node makes requests of everything that it has read, whatever becomes of the connection: of 64 KiB, 3,600. Nothing
 * documented stops it; without this member all of them are made, and dropped above. The rest of a body is still read.
 */
export function stopParsing(socket: Socket): void {
  if (hasParser(socket)) socket.parser.onIncoming = () => NO_MORE_HTTP;
}

/** What Node's parser takes for the end of HTTP on a connection, as after an upgrade. */
const NO_MORE_HTTP = 2;

function hasParser(socket: object): socket is { parser: { onIncoming: () => number } } {
  return 'parser' in socket && typeof socket.parser === 'object' && socket.parser !== null;
}

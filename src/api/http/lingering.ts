/**
 * Closes connections so that the last answer arrives. A system that closes one while bytes of the client are unread, or
 * still to come, resets it, and what was on its way to the client is lost: whoever sends a body that is refused at once
 * would learn of a broken pipe instead of the reason. So our side is closed first, and what comes is read and dropped for a
 * while (RFC 9112, 9.6).
 */
import type { Server, Socket } from 'node:net';
import { stopParsing } from './pipelining.ts';

export interface Linger {
  /** Milliseconds without a byte, after which nothing more is expected. */
  quietMs: number;
  /** Milliseconds in all. */
  mostMs: number;
}

export const LINGER: Linger = { quietMs: 1_000, mostMs: 30_000 };

/** Replaces `destroySoon` of the connections of this server, by which Node ends one after its last answer. */
export function lingerOnClose(server: Server, linger: Linger): void {
  server.on('connection', (socket: Socket) => {
    socket.destroySoon = () => {
      if (socket.writableEnded) return;
      // Node would keep each request that comes now, which nothing counts, until the connection is closed.
      stopParsing(socket);
      socket.once('finish', () => destroyOnceQuiet(socket, linger));
      // With the end of the other side, the connection is closed.
      socket.end();
    };
  });
}

function destroyOnceQuiet(socket: Socket, { quietMs, mostMs }: Linger): void {
  const since = performance.now();
  let read = socket.bytesRead;
  // After a stall, what has come is read only after timers have run, and before immediates do.
  const timer = setInterval(() => setImmediate(look), quietMs);
  socket.once('close', () => clearInterval(timer));

  function look(): void {
    if (socket.bytesRead === read || performance.now() - since > mostMs) socket.destroy();
    read = socket.bytesRead;
  }
}

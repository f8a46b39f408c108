/** The API in a process of its own, and raw sockets to it that need not follow HTTP. */
import { mkdtemp, readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Child, Exit } from '../../../dev/processes/child-process.ts';
import { untilAnswering } from '../../../dev/processes/program.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import { freePort } from '../../../src/postgres/ports.ts';
import { atEnd } from '../../end-of-file.ts';
import { startOnDatabase } from '../faults/api-process.ts';
import { ADMIN_KEY, emptyDatabase } from '../harness.ts';

const folder = await mkdtemp(join(tmpdir(), 'api-child-'));

export interface ApiChild {
  child: Child;
  port: number;
  url: string;
  databaseUrl: string;
  /** Its log so far. */
  log(): Promise<LogLine[]>;
  /** Returns when it has exited, for whatever reason. */
  ended(timeoutMs?: number): Promise<Exit>;
}

const logLine = z.looseObject({ level: z.number(), msg: z.string().default('') });
type LogLine = z.output<typeof logLine>;

let started = 0;

/** Returns when it is ready. @param descriptors limit on its open files and sockets */
export async function startApiChild(env: Record<string, string> = {}, descriptors?: number): Promise<ApiChild> {
  const api = await launchApiChild(env, descriptors);
  await untilAnswering(api.child, `${api.url}/readyz`);
  return api;
}

/** Returns at once. */
export async function launchApiChild(env: Record<string, string> = {}, descriptors?: number): Promise<ApiChild> {
  const [databaseUrl, port] = await Promise.all([env.DATABASE_URL ?? emptyDatabase(), freePort()]);
  const child = startOnDatabase(['api', '--port', String(port)], {
    folder,
    name: `api-${++started}`,
    databaseUrl,
    apiKey: ADMIN_KEY,
    env: { RATE_LIMIT_UNAUTHENTICATED: '0', ...env },
    ...(descriptors === undefined ? {} : { descriptors }),
  });
  atEnd(() => child.stop({ signal: 'SIGKILL' }));
  return {
    child,
    port,
    url: `http://127.0.0.1:${port}`,
    databaseUrl,
    log: async () => (await readFile(child.logFile, 'utf8')).split('\n').flatMap(parseLine),
    ended: (timeoutMs = 60_000) => waitFor(`${child.name} to exit`, () => child.exit(), { timeoutMs }),
  };
}

function parseLine(line: string): LogLine[] {
  return line.startsWith('{') ? [logLine.parse(JSON.parse(line))] : [];
}

/** A connection to the API, and everything received on it. */
export interface Peer {
  socket: Socket;
  received(): string;
  /** Undefined while it is open. */
  end(): 'closed' | 'reset' | undefined;
  /** Returns the match as soon as the received text has one. */
  until(pattern: RegExp): Promise<string>;
  untilEnded(): Promise<'closed' | 'reset'>;
}

/** Returns when it is open; throws when it is refused. @param from a loopback address */
export async function open(
  { port, halfOpen = false }: { port: number; halfOpen?: boolean },
  from?: string,
): Promise<Peer> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    allowHalfOpen: halfOpen,
    ...(from === undefined ? {} : { localAddress: from }),
  });
  let received = '';
  let end: 'closed' | 'reset' | undefined;
  socket.setEncoding('latin1').on('data', (part) => {
    received += String(part);
  });
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.on('error', () => {
      end = 'reset';
      resolve(false);
    });
    socket.once('close', () => {
      end ??= 'closed';
    });
  });
  if (!isOpen) throw new Error('the connection was refused');
  atEnd(async () => void socket.destroy());
  return {
    socket,
    received: () => received,
    end: () => end,
    until: (pattern) => waitFor(`${pattern}`, () => pattern.exec(received)?.[0], { intervalMs: 5 }),
    untilEnded: () => waitFor('the end of a connection', () => end, { intervalMs: 5, timeoutMs: 60_000 }),
  };
}

/** Returns when the port no longer accepts connections, so that open ones are being closed. */
export const untilRefused = ({ port }: { port: number }) =>
  waitFor('a refused connection', () =>
    open({ port }).then(
      ({ socket }) => void socket.destroy(),
      () => true,
    ),
  );

/** The `connection` header of each 200 response received so far. */
export const endings = (peer: Peer) =>
  [...peer.received().matchAll(/HTTP\/1\.1 200 [\s\S]*?\r\nconnection: (\S+)\r\n/gi)].map(([, ending]) => ending);

/** The text of a request. */
export function request(
  path: string,
  { method = 'GET', headers = {} as Record<string, string>, body = '' } = {},
): string {
  const all = { host: 'tunnels.test', authorization: `Bearer ${ADMIN_KEY}`, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** A server that gives prepared answers and records the requests: shows what the client does on the wire. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { atEnd } from '../end-of-file.ts';

export interface Sent {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  /** Undefined if there was none. */
  body: unknown;
}

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

interface Recorder {
  url: string;
  sent: Sent[];
}

/** @param answers one for each request; the last one for all that follow; null never answers */
export async function record(...answers: [Answer | null, ...(Answer | null)[]]): Promise<Recorder> {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { method, url, headers } = request;
    sent.push({ method, url, headers, body: body === '' ? undefined : JSON.parse(body) });
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    if (!answer) return;
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  atEnd(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

/** The body of an error of the catalogue. */
export const errorOf = (error_code: string, status: number, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  body: { error_code, status_code: status, msg: 'why', details: { '/a': 'b' } },
});

/** An API in this process with some settings, its log, and a way to ask it as strangers do. Only for test files. */
import { pino } from 'pino';
import { startApi } from '../../src/api/server.ts';
import type { ApiConfig } from '../../src/api/settings.ts';

export type StartedApi = Awaited<ReturnType<typeof startedApi>>;

/** On a port of its own, unless the settings name one. */
export async function startedApi(settings: Partial<ApiConfig>) {
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const api = await startApi({ port: 0, ...settings }, logger);
  const port = Number(new URL(api.listening).port);
  async function ask(key: string, path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
    const headers = {
      // Else the server waits at its end for the next request.
      connection: 'close',
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: JSON.stringify(body) });
    return { status: answer.status, text: await answer.text() };
  }
  return { ...api, port, logs, ask };
}

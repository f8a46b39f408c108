/** Starts the API in this process, with its log and a function that calls it over HTTP. Only for test files. */
import { pino } from 'pino';
import { startApi } from '../../src/api/server.ts';
import type { ApiConfig } from '../../src/api/settings.ts';
import type { Tracing } from '../../src/tracing/tracing.ts';
import { withCheckAtEnd } from './events/overdue.ts';

export type StartedApi = Awaited<ReturnType<typeof startedApi>>;

/** Listens on a free port unless the settings name one. */
export async function startedApi(settings: Partial<ApiConfig>, tracing?: Tracing) {
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const api = withCheckAtEnd(await startApi({ port: 0, ...settings }, logger, undefined, tracing));
  const port = Number(new URL(api.listening).port);
  async function ask(key: string, path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
    const headers = {
      // Otherwise the server would wait for the next request when it stops.
      connection: 'close',
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: JSON.stringify(body) });
    return { status: answer.status, text: await answer.text() };
  }
  return { ...api, port, logs, ask };
}

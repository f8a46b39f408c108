/** Before anything is measured: fills the database through the API, and records each operation once. */
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../src/api/app.ts';
import { bootstrap } from '../../src/api/bootstrap.ts';
import { openSecrets } from '../../src/api/secrets/rotation.ts';
import { tokenHash } from '../../src/api/secrets/tokens.ts';
import { BENCH_KEY, KEYRING } from '../keys.ts';
import { openPool } from '../stage.ts';
import { fillTemplate, type Lists } from '../template.ts';
import type { Case, Seed } from './cases.ts';
import { recording } from './recording.ts';
import type { Script } from './script.ts';
import { scriptOf } from './trace.ts';

export interface Rehearsal {
  /** Creates what the cases need, and returns the ids. */
  seed(seeds: readonly Seed[], plain: Lists): Promise<Lists>;
  /** Does it once, as request number `n`. */
  record(one: Case, lists: Lists, n: number): Promise<Script>;
  stop(): Promise<void>;
}

/** The API in this process, on this database. */
export async function startRehearsal(url: string): Promise<Rehearsal> {
  const pool = openPool(url);
  const { db, taken } = recording(pool);
  await bootstrap(db, BENCH_KEY, 'http://127.0.0.1');
  const secrets = await openSecrets(db, KEYRING, 'keys.ts');
  const app = await buildApp({ db, secrets, rateLimits: { perKey: 0 } });
  return {
    async seed(seeds, plain) {
      const lists: Record<string, readonly string[]> = { ...plain };
      for (const { method, list, count, path, body } of seeds) {
        const made: string[] = [];
        for (let n = 0; n < count; n++) {
          const { answer } = await send(app, method, fillTemplate(path, n, lists), fillTemplate(body, n, lists));
          made.push(String(Object(answer).id));
        }
        if (list !== undefined) lists[list] = made;
      }
      taken();
      return lists;
    },
    async record({ method, path, query = '', body }, lists, n) {
      const payload = body === undefined ? undefined : fillTemplate(body, n, lists);
      taken();
      const { status, answer } = await send(app, method, fillTemplate(path, n, lists) + query, payload);
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
      return scriptOf({
        method,
        url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
        params: Object.fromEntries(names.map((name) => [name, fillTemplate(`{${name}}`, n, lists)])),
        body: payload === undefined ? undefined : JSON.parse(payload),
        callerHash: tokenHash(BENCH_KEY),
        steps: taken(),
        status,
        answer,
      });
    },
    async stop() {
      await app.close();
      await pool.close();
    },
  };
}

async function send(app: FastifyInstance, method: Case['method'], url: string, payload?: string) {
  const { statusCode: status, payload: text } = await app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' },
    ...(payload === undefined ? {} : { payload }),
  });
  if (status >= 300) throw new Error(`${method} ${url} answered ${status}: ${text}`);
  const answer: unknown = JSON.parse(text);
  return { status, answer };
}

/**
 * A minimal implementation of the same: Fastify, pg, and for each operation the prepared statements of its script, in
 * the same transactions. No validation, logs, metrics or ETags.
 */
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import pg from 'pg';
import { answerQuestions } from '../questions.ts';
import { COMPUTATIONS } from './computations.ts';
import { handler } from './replay.ts';
import type { Script } from './script.ts';

const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: 20 });
// PostgreSQL closes idle connections at the end of the run: not an error.
pool.on('error', () => undefined);
const app = Fastify();

// Written by api/bench.ts, whose types these are.
const scripts: Record<string, Script> = JSON.parse(readFileSync(process.env.BENCH_SCRIPTS ?? '', 'utf8'));

for (const [title, script] of Object.entries(scripts)) {
  const { method, url, status } = script;
  const handle = handler(pool, script, COMPUTATIONS[title]);
  app.route<{ Params: Record<string, string> }>({
    method,
    url,
    handler: async (request, reply) => {
      const { params, body, headers } = request;
      const answer = await handle({ params, body, secret: headers.authorization?.slice('Bearer '.length) ?? '' });
      return reply.code(status).send(answer);
    },
  });
}

const address = await app.listen({ port: 0, host: '127.0.0.1' });
answerQuestions(address, async () => {
  await app.close();
  await pool.end();
});

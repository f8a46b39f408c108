/**
 * npm run test:fuzz [-- --seed <number>] [-- --minutes <number>]
 *
 * Runs schemathesis against the API, for ten minutes by default: most of the time as an admin, the rest as a user. The
 * same seed gives the same requests, except for ids. Fails if it finds anything.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { positive } from '../dev/arguments.ts';
import { createDatabase } from '../dev/database/databases.ts';
import { startPostgres } from '../dev/database/postgres.ts';
import { fuzz, startTarget } from '../dev/fuzz/run.ts';
import { ensureSchemathesis } from '../dev/fuzz/schemathesis.ts';

const { values } = parseArgs({ options: { seed: { type: 'string' }, minutes: { type: 'string' } } });
const seed = positive('--seed', values.seed) ?? randomInt(1, 1_000_000);
const seconds = (positive('--minutes', values.minutes) ?? 10) * 60;

const say = (text: string) => process.stderr.write(`${text}\n`);

const schemathesis = await ensureSchemathesis();
const postgres = await startPostgres();
try {
  const target = await startTarget(await createDatabase(postgres.url, 'fuzz'));
  try {
    say(`seed ${seed}, ${Math.round(seconds)} s`);
    for (const [as, share] of [
      [target.admin, 0.8],
      [target.user, 0.2],
    ] as const) {
      const args = [`--max-time=${Math.ceil(seconds * share)}`];
      const { ok } = await fuzz({ schemathesis, target, as, seed, args });
      if (!ok) process.exitCode = 1;
    }
    const bad = target.badLines();
    if (bad.length > 0) {
      say(`The API logged errors or secrets:\n${bad.slice(0, 20).join('')}`);
      process.exitCode = 1;
    }
    say(`seed ${seed}: ${process.exitCode ? 'see above' : 'nothing found'}`);
  } finally {
    await target.stop();
  }
} finally {
  await postgres.stop();
}

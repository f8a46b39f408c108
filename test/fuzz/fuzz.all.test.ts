import { expect, test } from 'vitest';
import { fuzz, startTarget } from '../../dev/fuzz/run.ts';
import { ensureSchemathesis, SchemathesisUnavailable } from '../../dev/fuzz/schemathesis.ts';
import { createTestDatabase } from '../harness.ts';

const SEED = 1;

test('requests generated from the OpenAPI document are answered as it describes', async ({ skip, onTestFinished }) => {
  const schemathesis = await ensureSchemathesis().catch((error) => {
    if (!(error instanceof SchemathesisUnavailable)) throw error;
    process.stderr.write(`The fuzz test of the API is skipped: ${error.message}\n`);
    return skip(error.message);
  });
  const target = await startTarget(await createTestDatabase());
  onTestFinished(target.stop);
  const run = async (as: typeof target.admin, ...args: string[]) => {
    const { ok, report } = await fuzz({
      schemathesis,
      target,
      as,
      seed: SEED,
      args: ['--warnings=off', ...args],
      quiet: true,
    });
    expect(ok, `seed ${SEED}\n${report}`).toBe(true);
  };
  await run(target.admin);
  await run(target.user, '--phases=examples,fuzzing', '--max-examples=1');
  expect(target.badLines()).toEqual([]);
}, 900_000);

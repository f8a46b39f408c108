/** Every fault once; faults-under-load.deep.test.ts has them in random order, many times. */
import { test } from 'vitest';
import { randomFrom } from '../../../dev/fixtures/random.ts';
import { faults } from './database-faults.ts';
import { expectNothingLostOrDoubled, openLoadStage, WRITERS } from './load-stage.ts';

const SEED = 1;

test(`${WRITERS} writers on two processes lose no acknowledged write and double none, whatever happens to the database`, {
  timeout: 240_000,
}, async ({ annotate }) => {
  const stage = await openLoadStage(SEED);
  const random = randomFrom(SEED);
  await stage.load.progress(50);
  for (const fault of Object.values(faults)) await fault(stage, random);
  await expectNothingLostOrDoubled(stage);
  await annotate(JSON.stringify({ ...stage.load.counts, things: stage.load.tracked.length }));
});

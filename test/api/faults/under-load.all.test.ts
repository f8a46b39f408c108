/**
 * Injects every fault once; in the deep tier (under-load.deep.test.ts), LOAD_FAULTS random ones. LOAD_SEED repeats the
 * choices of a run, not its timing.
 */
import { expect, test } from 'vitest';
import { randomFrom } from '../../../dev/fixtures/random.ts';
import { isDeep } from '../../tier.ts';
import { faults } from './database-faults.ts';
import { expectNothingLostOrDoubled, openLoadStage, WRITERS } from './load-stage.ts';

const SEED = Number(process.env.LOAD_SEED ?? (isDeep ? Math.floor(Math.random() * 2 ** 31) : 1));
const FAULTS = Number(process.env.LOAD_FAULTS ?? 60);

test(`${WRITERS} writers on two processes lose or duplicate no acknowledged write, whatever fails (seed ${SEED})`, {
  timeout: isDeep ? 1_200_000 : 240_000,
}, async ({ annotate }) => {
  const stage = await openLoadStage(SEED);
  const random = randomFrom(SEED);
  const all = Object.values(faults);
  const chosen = isDeep ? Array.from({ length: FAULTS }, () => random.oneOf(all)) : all;
  for (const fault of chosen) {
    await stage.load.progress(random.below(40));
    await fault(stage, random);
    expect(stage.load.violations).toEqual([]);
  }
  await expectNothingLostOrDoubled(stage);
  await annotate(JSON.stringify({ ...stage.load.counts, things: stage.load.tracked.length }));
});

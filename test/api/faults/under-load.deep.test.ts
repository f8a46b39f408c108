/** LOAD_SEED repeats a run's choices (not its timing), LOAD_FAULTS says how many faults there are. */
import { expect, test } from 'vitest';
import { randomFrom } from '../../../dev/fixtures/random.ts';
import { faults } from './database-faults.ts';
import { expectNothingLostOrDoubled, openLoadStage, WRITERS } from './load-stage.ts';

const SEED = Number(process.env.LOAD_SEED ?? Math.floor(Math.random() * 2 ** 31));
const FAULTS = Number(process.env.LOAD_FAULTS ?? 60);

test(`${WRITERS} writers on two processes lose and double nothing over ${FAULTS} faults (seed ${SEED})`, {
  timeout: 1_200_000,
}, async ({ annotate }) => {
  const stage = await openLoadStage(SEED);
  const random = randomFrom(SEED);
  const done: Record<string, number> = {};
  for (let n = 0; n < FAULTS; n++) {
    const [name, fault] = random.oneOf(Object.entries(faults));
    done[name] = (done[name] ?? 0) + 1;
    await stage.load.progress(random.below(40));
    await fault(stage, random);
    expect(stage.load.violations).toEqual([]);
  }
  await expectNothingLostOrDoubled(stage);
  await annotate(JSON.stringify({ ...stage.load.counts, things: stage.load.tracked.length, ...done }));
});

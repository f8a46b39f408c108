/** The deep tier runs more sequences. WIPES_SEQUENCES sets their number, WIPES_SEED repeats a run's choices. */
import { expect, it } from 'vitest';
import { isDeep } from '../tier.ts';
import { checkPromise } from './wipes/promise.ts';
import { openWorld } from './wipes/world.ts';

const SEED = Number(process.env.WIPES_SEED ?? Math.floor(Math.random() * 2 ** 30));
const SEQUENCES = Number(process.env.WIPES_SEQUENCES ?? (isDeep ? 2_000 : 16));

const world = await openWorld();

it(`exactly one credential remains after random wipes, crashes and late calls (seed ${SEED})`, {
  timeout: 60_000 + 2_000 * SEQUENCES,
}, async ({ annotate }) => {
  await checkPromise(world, SEQUENCES, SEED);
  await annotate(JSON.stringify(Object.fromEntries(world.counts)));
  expect(world.counts.get('sequences')).toBeGreaterThanOrEqual(SEQUENCES);
});

/** A part of what `wipes.deep.test.ts` runs. */
import { expect, it } from 'vitest';
import { checkPromise } from './wipes/promise.ts';
import { openWorld } from './wipes/world.ts';

const SEED = Number(process.env.WIPES_SEED ?? Math.floor(Math.random() * 2 ** 30));
const SEQUENCES = 96;

const world = await openWorld();

it(`there is exactly one credential, whatever was wiped, cut short or late (seed ${SEED})`, async () => {
  await checkPromise(world, SEQUENCES, SEED);
  expect(world.counts.get('sequences')).toBeGreaterThanOrEqual(SEQUENCES);
}, 180_000);

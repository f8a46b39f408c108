/** A part of what `wipes.deep.test.ts` runs. */
import { describe, expect, it } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { Life } from './wipes/life.ts';
import { checkPromise } from './wipes/promise.ts';
import { openWorld } from './wipes/world.ts';

const SEED = Number(process.env.WIPES_SEED ?? Math.floor(Math.random() * 2 ** 30));
const SEQUENCES = 96;

const world = await openWorld();

it(`there is exactly one credential, whatever was wiped, cut short or late (seed ${SEED})`, async () => {
  await checkPromise(world, SEQUENCES, SEED);
  expect(world.counts.get('sequences')).toBeGreaterThanOrEqual(SEQUENCES);
}, 180_000);

describe('a generation that somebody has written', () => {
  let named = 0;
  /** The operator goes by it and dies at one of its calls, which arrives when all of that has been wiped. */
  async function wiped(generation: number, at: number): Promise<Life> {
    const life = new Life(world, `edited-${named++}`, '0s');
    await life.create();
    await life.annotate({ [ANNOTATION.createGeneration]: String(generation), [ANNOTATION.createKey]: 'edited' });
    await life.reconcile([{ at, fate: 'dies, and it arrives late' }]);
    await life.replace();
    return life;
  }

  async function mustHold(life: Life): Promise<void> {
    await life.comeToRest();
    await life.mustHoldPromise();
  }

  const cases = [2, 3, 4].flatMap((generation) => Array.from({ length: 8 }, (_, at) => ({ generation, at })));

  it.for(cases)('($generation) leaves nothing behind a deletion: dead at call $at', async ({ generation, at }) => {
    const life = await wiped(generation, at);
    await life.remove();
    await life.reconcile();
    await mustHold(life);
  });

  it.for(cases)('($generation) makes no second credential: dead at call $at', async ({ generation, at }) => {
    const life = await wiped(generation, at);
    await life.reconcile();
    for (let next = 2; next < generation; next++) {
      await life.annotate({ [ANNOTATION.rotateRequestedAt]: String(next) });
      await life.reconcile();
    }
    await mustHold(life);
  });
});

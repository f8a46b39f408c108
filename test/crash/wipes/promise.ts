/**
 * The promise under random sequences of what users, crashes and slow networks do to one object: once everything has arrived
 * and the operator has nothing left to do, there is exactly one credential, and its token works. After a deletion there is
 * none, or with Retain the one whose token is in the Secret.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import { type Ending, endings, lives, overlaps } from './commands.ts';
import { Life } from './life.ts';
import type { World } from './world.ts';

/** Sequences that run at the same time. */
const AT_ONCE = 8;

let named = 0;

/** Runs random sequences. @throws with the shortest sequence that breaks the promise, and the seed that repeats it */
export async function checkPromise(world: World, sequences: number, seed: number): Promise<void> {
  const property = fc.asyncProperty(lives, overlaps, endings, async (commands, overlap, ending) => {
    const life = new Life(world, `life-${named++}`, overlap);
    await life.create();
    await fc.asyncModelRun(() => ({ model: {}, real: life }), commands);
    await end(life, ending);
    world.count('sequences');
  });
  const numRuns = Math.ceil(sequences / AT_ONCE);
  await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) => fc.assert(property, { numRuns, seed: seed + n, endOnFailure: false })),
  );
}

async function end(life: Life, { policy, isSudden, faults }: Ending): Promise<void> {
  if (!isSudden) {
    await life.comeToRest();
    await life.mustHoldPromise();
  }
  const object = await life.find();
  const [id] = await life.credentials();
  await life.remove(policy);
  await life.reconcile(faults);
  await life.comeToRest();
  expect(await life.find()).toBeUndefined();
  if (object && policy === 'Retain') await life.mustHoldRetained(object, isSudden ? undefined : id);
  else await life.mustHoldPromise();
  await life.deleteSecret();
}

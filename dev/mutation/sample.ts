import { randomFrom } from '../fixtures/random.ts';

/** Picks `count` of the items; the same seed picks the same. Their order stays. */
export function sample<T>(items: readonly T[], count: number, seed: number): T[] {
  const random = randomFrom(seed);
  return items
    .map((item, index) => ({ item, index, lot: random.next() }))
    .sort((a, b) => a.lot - b.lot)
    .slice(0, count)
    .sort((a, b) => a.index - b.index)
    .map(({ item }) => item);
}

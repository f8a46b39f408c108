/** Choices that can be repeated: the same ones for the same seed. */
export interface Random {
  /** From 0 up to, but not, 1. */
  next(): number;
  /** A whole number from 0 up to, but not, `count`. */
  below(count: number): number;
  chance(probability: number): boolean;
  oneOf<T>(choices: readonly T[]): T;
  /** Some of them, perhaps none, in their order. */
  some<T>(choices: readonly T[]): T[];
}

/** Mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(next() * count);
  const chance = (probability: number) => next() < probability;
  return {
    next,
    below,
    chance,
    oneOf(choices) {
      const choice = choices[below(choices.length)];
      if (choice === undefined) throw new Error('nothing to choose from');
      return choice;
    },
    some: (choices) => choices.filter(() => chance(0.5)),
  };
}

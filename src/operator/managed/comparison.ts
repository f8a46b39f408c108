/** Comparing what is declared with what is there. */
import { isDeepStrictEqual } from 'node:util';

/** The names of the members of `wanted` that `observed` does not have with the same value. */
export function differing(
  wanted: Readonly<Record<string, unknown>>,
  observed: Readonly<Record<string, unknown>>,
): string[] {
  return Object.keys(wanted).filter((name) => !isDeepStrictEqual(wanted[name], observed[name]));
}

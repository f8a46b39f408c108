/** Whole numbers in settings: as a number, or as the text of one, which is all that flags and variables can hold. */
import { z } from 'zod';

export function wholeNumber(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`;
  const fromText = z
    .string()
    .regex(/^-?\d{1,15}$/, error)
    .transform(Number);
  return z.union([z.number(), fromText], { error }).pipe(z.int(error).min(least, error).max(most, error));
}

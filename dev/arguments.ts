/** Numeric arguments of the scripts. */

/** Undefined if the argument is absent; exits with a message if it is not a number above 0. */
export function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (number > 0 && Number.isFinite(number)) return number;
  process.stderr.write(`${name} must be a number above 0, not "${text}"\n`);
  process.exit(2);
}

/** Numbers in YAML as kubectl reads them, whose parser (go-yaml 2) takes more for one than YAML 1.1 and 1.2 do. */

const INTEGER = /^[-+]?(?:0x[0-9a-f]+|0b[01]+|0o?[0-7]+|0|[1-9][0-9]*)$/i;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:e[-+]?[0-9]+)?$/i;

/** A scalar that starts like a number is either one or a string. */
export const MAY_BE_NUMBER = /^(?:[-+]\.?[0-9_]|\.[0-9_]|[0-9])/;

/** The number that the plain scalar stands for; undefined if it is a string. */
export function yamlNumber(text: string): number | undefined {
  if (!MAY_BE_NUMBER.test(text) || text.startsWith('._')) return undefined;
  const digits = text.replaceAll('_', '');
  if (INTEGER.test(digits)) return integer(digits);
  return FLOAT.test(digits) ? Number(digits) : undefined;
}

function integer(digits: string): number {
  const sign = digits.startsWith('-') ? -1 : 1;
  const unsigned = digits.replace(/^[-+]/, '');
  return sign * Number(/^0[0-7]/.test(unsigned) ? `0o${unsigned}` : unsigned);
}

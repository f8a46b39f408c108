/** Requests that differ from one to the next: texts with places to fill in. */

/** What `{name}` in a template takes its turns of. */
export type Lists = Readonly<Record<string, readonly string[]>>;

/** Largest prime below 2^16, so that numbers in hex and turns of a list meet in every combination. */
const HEX_VALUES = 65_521;

/**
 * The n-th text of a template: `{n}` is the number, `{hex}` a hexadecimal number of at most four digits, `{name}` the
 * n-th of the list of that name, round and round. Two lists whose lengths have no common divisor pair up anew each time.
 */
export function fillTemplate(template: string, n: number, lists: Lists): string {
  return template.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => {
    if (name === 'n') return String(n);
    if (name === 'hex') return (1 + (n % (HEX_VALUES - 1))).toString(16);
    const list = lists[name];
    const member = list?.[n % list.length];
    if (member === undefined) throw new Error(`there is no list ${name} to fill ${template}`);
    return member;
  });
}

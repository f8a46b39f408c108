/** Templates of requests: texts with placeholders, so that each request differs from the previous one. */

/** The lists that placeholders in a template cycle through. */
export type Lists = Readonly<Record<string, readonly string[]>>;

/** Largest prime below 2^16, so that hexadecimal numbers and list entries meet in every combination. */
const HEX_VALUES = 65_521;

/**
 * The n-th text of a template: `{n}` is the number, `{hex}` a hexadecimal number of at most four digits, `{name}` the
 * n-th entry of the list of that name, cyclically. Two lists with coprime lengths pair up differently each time around.
 */
export function fillTemplate(template: string, n: number, lists: Lists): string {
  return template.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => {
    if (name === 'n') return String(n);
    if (name === 'hex') return (1 + (n % (HEX_VALUES - 1))).toString(16);
    const list = lists[name];
    const member = list?.[n % list.length];
    if (member === undefined) throw new Error(`no list ${name} for the template ${template}`);
    return member;
  });
}

/** All forms of a family's name, derived from the one in snake case. */
import { camel, words } from '../../src/api/errors/naming.ts';

export interface FamilyNames {
  /** `dns_zone`. */
  readonly name: string;
  /** `dns_zones`. */
  readonly plural: string;
  /** `dns-zone`, of files. */
  readonly file: string;
  /** `dnsZone`. */
  readonly variable: string;
  /** `dnsZones`, in the typed client. */
  readonly client: string;
  /** `DNSZone`, of schemas and kinds. */
  readonly title: string;
  /** `DNS zones`, in prose. */
  readonly many: string;
}

const NAME = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

/** @throws Error when the name is not one or more lower-case words with underscores between */
export function familyNames(name: string): FamilyNames {
  if (!NAME.test(name)) throw new Error(`"${name}" must be a singular in snake case, as in dns_zone`);
  const plural = name.endsWith('y') && !/[aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`;
  const spoken = words(name).split(' ');
  return {
    name,
    plural,
    file: name.replaceAll('_', '-'),
    variable: camel(name),
    client: camel(plural),
    title: spoken.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(''),
    many: words(plural),
  };
}

/** The initials of its words and two more letters of the last, such as `dzon`; a suggestion to improve on. */
export function prefixOf(name: string): string {
  const parts = name.split('_');
  const last = parts.pop() ?? '';
  return parts.map((part) => part.charAt(0)).join('') + last.slice(0, 3);
}

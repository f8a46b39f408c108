/** Translates error messages of the API into terms of the spec: its member names, and the sources of its texts. */
import { memberPath, type PlacedInput, type Source } from './input.ts';

export interface SpecTerms {
  /** As declared. */
  readonly spec: unknown;
  /** The members of the spec by the names of the API's fields, also of those within others. */
  readonly members: ReadonlyMap<string, string>;
  /** The texts that the spec takes from Secrets and ConfigMaps. */
  readonly sources: readonly PlacedInput<Source>[];
  /** Whose URL and API key are used, if not the operator's own. */
  readonly connection?: string | undefined;
}

export const NO_TERMS: SpecTerms = { spec: undefined, members: new Map(), sources: [] };

/** The name in a spec of a field of the API: `ip_policy_id` becomes `ipPolicyId`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** `/rules/0/ip_policy_id` becomes `spec.rules[0].ipPolicyId`; the keys of maps are the user's own. */
export function specPath(pointer: string, terms: SpecTerms = NO_TERMS): string {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  let [path, within] = ['spec', terms.spec];
  for (const part of parts) {
    const members = new Map<string, unknown>(Object.entries(within ?? {}));
    const known = [part, terms.members.get(part) ?? '', camelCase(part)].find((name) => members.has(name));
    const name = known ?? terms.members.get(part) ?? camelCase(part);
    const isIndex = /^\d+$/.test(part) && (within === undefined || Array.isArray(within));
    path = isIndex ? `${path}[${part}]` : terms.members.get(part) === name ? `${path}.${name}` : memberPath(path, name);
    within = members.get(name);
  }
  return path;
}

/** Why a member is refused: its path, the source of its text if it has one, and the reason. */
export function aboutMember(pointer: string, reason: string, terms: SpecTerms = NO_TERMS): string {
  const path = specPath(pointer, terms);
  // The API shows keys such as header names in lower case.
  const source = terms.sources.find((placed) => placed.path.toLowerCase() === path.toLowerCase())?.input;
  const why = inSpecTerms(reason, terms);
  return source === undefined ? `${path}: ${why}` : `${path}: ${valueIn(source)} ${why}`;
}

/** Names the text of a source without revealing it. */
export const valueIn = ({ kind, name, key }: Source) => `the value of ${JSON.stringify(key)} in ${kind} ${name}`;

/** The text with the names that fields have in the spec. */
export function inSpecTerms(text: string, { members }: Pick<SpecTerms, 'members'>): string {
  return text.replaceAll(/\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b/g, (word) => members.get(word) ?? word);
}

/** CEL rules, which the API server checks beyond the schema of a field. */
import { z } from 'zod';

/** A CEL rule; `message` names the field and says what is valid. */
export interface CelRule {
  rule: string;
  message: string;
  /** The member that the message is about, relative to the one that has the rule: `.interval`. */
  fieldPath?: string;
}

/**
 * CEL rules for schemas of the domain, which knows nothing of Kubernetes. They apply wherever a kind uses the schema.
 */
export const celRegistry = z.registry<{ rules: readonly CelRule[] }>();

/** A CEL string literal. */
export function celString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** A regular expression of JavaScript, without flags, as a CEL string literal. CEL resolves its Unicode escapes. */
export function celRegExp(source: string): string {
  return celString(source).replaceAll(/\\\\u(?=[0-9a-fA-F]{4})/g, '\\u');
}

const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
/** As part of a regular expression in a CEL string literal. */
export const DNS_NAME = `${DNS_LABEL}(\\\\.${DNS_LABEL})*`;

/** The names of Kubernetes objects, which are parts of paths. */
export const objectNameRules: readonly CelRule[] = [
  {
    rule: `self.matches('^${DNS_NAME}$')`,
    message: 'must be the name of an object: lower-case letters, digits, inner hyphens and dots, as in shop-agent',
  },
];

export const namespaceRules: readonly CelRule[] = [
  {
    rule: `self.matches('^${DNS_LABEL}$')`,
    message: 'must be the name of a namespace: lower-case letters, digits and inner hyphens, as in shop',
  },
];

/** The keys of Secrets and ConfigMaps. */
export const dataKeyRules: readonly CelRule[] = [
  {
    rule: "self.matches('^[-._a-zA-Z0-9]+$')",
    message: 'must be a key of a Secret or ConfigMap: letters, digits, hyphens, underscores and dots, as in tls.crt',
  },
];

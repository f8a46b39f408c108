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

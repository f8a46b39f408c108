/** Rules in CEL: what the API server checks beyond the form of a field. */
import { z } from 'zod';

/** A CEL rule; `message` names the field and what would be right. */
export interface CelRule {
  rule: string;
  message: string;
  /** Which member the message is about, below the one that has the rule: `.interval`. */
  fieldPath?: string;
}

/** The rules of schemas that the domain declares without knowing of Kubernetes; wherever a kind uses one, they apply. */
export const celRegistry = z.registry<{ rules: readonly CelRule[] }>();

/** A string literal of CEL. */
export function celString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** What the event of a policy says when many of its rules change at once: one event of bounded size, not one for each. */
import type { Row } from '../store/repository.ts';

/** How many rules of each list are named; whoever needs more reads the rule set. */
export const NAMED_RULES = 50;

/** The rules as they are now; those that were removed, as they were. */
interface Changed {
  readonly added?: readonly Row[];
  readonly changed?: readonly Row[];
  readonly removed?: readonly Row[];
}

/** Members of the event besides the policy. */
export function ruleChanges({ added = [], changed = [], removed = [] }: Changed) {
  return { rule_changes: { added: told(added), changed: told(changed), removed: told(removed) } };
}

/** Without descriptions and metadata, which may be large. */
const told = (rows: readonly Row[]) => ({
  count: rows.length,
  rules: rows.slice(0, NAMED_RULES).map(({ id, cidr, action }) => ({ id, cidr, action })),
});

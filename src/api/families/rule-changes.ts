/** What the event of a policy says when many of its rules change at once: one event, not one for each. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Row } from '../store/repository.ts';

/** What the event says of a rule that comes or goes. */
export const namedRule = z.object({ id: z.string(), cidr: z.string(), action: z.string() });

interface Changed {
  readonly added?: readonly Row[];
  /** Each as it is now, and as it was. */
  readonly changed?: readonly (readonly [now: Row, before: Row])[];
  /** As they were. */
  readonly removed?: readonly (Row | z.output<typeof namedRule>)[];
}

/** Members of the event besides the policy: of all rules, as nobody could tell later which they were. */
export function ruleChanges({ added = [], changed = [], removed = [] }: Changed) {
  return {
    rule_changes: {
      added: told(added.map(named)),
      changed: told(changed.map(([now, before]) => ({ ...named(now), fields: differing(now, before) }))),
      removed: told(removed.map(named)),
    },
  };
}

const told = (rules: readonly object[]) => ({ count: rules.length, rules });

/** Without descriptions and metadata, which may be large. */
const named = ({ id, cidr, action }: Row | z.output<typeof namedRule>) => ({ id, cidr, action });

const differing = (now: Row, before: Row) =>
  Object.keys(now).filter((name) => !isDeepStrictEqual(now[name], before[name]));

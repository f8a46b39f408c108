/** The changed rules in the event of a policy: one event, however many rules change. */
import { z } from 'zod';
import { differing } from '../crud/view.ts';
import type { Row } from '../store/repository.ts';

/** A rule that was added or removed, as in the event. */
export const namedRule = z.object({ id: z.string(), cidr: z.string(), action: z.string() });

interface Changed {
  readonly added?: readonly Row[];
  /** Each rule after and before the change. */
  readonly changed?: readonly (readonly [now: Row, before: Row])[];
  /** The rules before their removal. */
  readonly removed?: readonly (Row | z.output<typeof namedRule>)[];
}

/** Additional members of the event: all changed rules, since they could not be reconstructed later. */
export function ruleChanges({ added = [], changed = [], removed = [] }: Changed) {
  return {
    rule_changes: {
      added: counted(added.map(named)),
      changed: counted(changed.map(([now, before]) => ({ ...named(now), fields: differing(before, now) }))),
      removed: counted(removed.map(named)),
    },
  };
}

const counted = (rules: readonly object[]) => ({ count: rules.length, rules });

/** Without descriptions and metadata, which may be large. */
const named = ({ id, cidr, action }: Row | z.output<typeof namedRule>) => ({ id, cidr, action });

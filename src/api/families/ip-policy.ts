/** IP policies: their rules, which are deleted with them, and their rule sets. */
import { z } from 'zod';
import { ipPolicy } from '../../resources/ip-policy.ts';
import { mount } from '../crud/mount.ts';
import { ipPolicyRules } from './ip-policy-rule.ts';
import { namedRule, ruleChanges } from './rule-changes.ts';
import { getRuleSet, replaceRuleSet } from './rule-set.ts';

/** Without their texts, which can be megabytes. */
const NAMED_RULES = 'select id, cidr, action from ip_policy_rules where ip_policy_id = $1 order by id';

export const ipPolicies = mount(ipPolicy, {
  aboutDelete:
    'Deletes its rules as well. Resources that refer to the policy keep doing so and act as if it had no rules.',
  async beforeDelete({ tx }, { id }) {
    const removed = z.array(namedRule).parse(await tx.query({ text: NAMED_RULES, values: [id] }));
    await ipPolicyRules.rows.removeMany(
      tx,
      removed.map((rule) => rule.id),
    );
    return removed.length === 0 ? undefined : ruleChanges({ removed });
  },
});
ipPolicies.add(getRuleSet(ipPolicies, ipPolicyRules));
ipPolicies.add(replaceRuleSet(ipPolicies, ipPolicyRules));

/** IP policies: their rules, which go with them, and their rule sets. */
import { ipPolicy } from '../../resources/ip-policy.ts';
import { mount } from '../crud/mount.ts';
import { ipPolicyRules } from './ip-policy-rule.ts';
import { ruleChanges } from './rule-changes.ts';
import { getRuleSet, replaceRuleSet } from './rule-set.ts';

export const ipPolicies = mount(ipPolicy, {
  async beforeDelete({ tx }, { id }) {
    const { rows } = ipPolicyRules;
    const removed = await rows.where(tx, 'ip_policy_id', id);
    await rows.removeMany(
      tx,
      removed.map((rule) => rule.id),
    );
    return removed.length === 0 ? undefined : ruleChanges({ removed });
  },
});
ipPolicies.add(getRuleSet(ipPolicies, ipPolicyRules));
ipPolicies.add(replaceRuleSet(ipPolicies, ipPolicyRules));

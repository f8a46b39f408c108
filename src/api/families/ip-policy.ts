/** IP policies: their rules, which go with them, and their rule sets. */
import { ipPolicy } from '../../resources/ip-policy.ts';
import { removeWhere } from '../crud/family.ts';
import { mount } from '../crud/mount.ts';
import { ipPolicyRules } from './ip-policy-rule.ts';
import { getRuleSet, replaceRuleSet } from './rule-set.ts';

export const ipPolicies = mount(ipPolicy, {
  beforeDelete: (context, { id }) => removeWhere(context, ipPolicyRules, 'ip_policy_id', id),
});
ipPolicies.add(getRuleSet(ipPolicies, ipPolicyRules));
ipPolicies.add(replaceRuleSet(ipPolicies, ipPolicyRules));

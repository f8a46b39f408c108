/**
 * IP policy rules. Every change of a rule locks its policy and counts as a revision of the policy, so that rule sets
 * change one after the other and an ETag of the policy protects its rules.
 */
import { ipPolicyRule, MAX_RULES_PER_POLICY, NO_MORE_RULES } from '../../resources/ip-policy-rule.ts';
import type { WriteContext } from '../crud/hooks.ts';
import { mount } from '../crud/mount.ts';
import { invalidByRule, invalidRequest } from '../errors/errors.ts';
import { ofThisAccount } from '../store/account-scope.ts';

export const ipPolicyRules = mount(ipPolicyRule, {
  aboutCreate: 'A policy has at most one rule for a CIDR block. The change counts as a new revision of the policy.',
  aboutDelete: 'Counts as a new revision of the policy.',
  async lockFirst({ tx }, id) {
    await tx.query({ text: LOCK_POLICY_OF_RULE, values: [id] });
  },
  async beforeCreate({ tx }, { ip_policy: { id } }) {
    if (!(await touch(tx, id))) {
      throw invalidRequest(
        { '/ip_policy_id': `IP policy ${id} does not exist` },
        { '/ip_policy_id': 'does not exist' },
      );
    }
    const [counted] = await tx.query({
      text: `select count(*) as rules from ip_policy_rules where ip_policy_id = $1 and ${ofThisAccount()}`,
      values: [id],
    });
    if (Number(counted?.rules) >= MAX_RULES_PER_POLICY) {
      throw invalidByRule({ '/ip_policy_id': NO_MORE_RULES });
    }
  },
  async beforeUpdate({ tx }, { ip_policy }) {
    await touch(tx, ip_policy.id);
  },
  async beforeDelete({ tx }, { ip_policy }) {
    await touch(tx, ip_policy.id);
  },
});

const LOCK_POLICY_OF_RULE = `
  select 1 from ip_policies where id = (select ip_policy_id from ip_policy_rules where id = $1) and ${ofThisAccount()} for update`;

/** Locks a policy and counts a change of its rules; false when there is no such policy. */
async function touch(tx: WriteContext['tx'], id: string): Promise<boolean> {
  const text = `update ip_policies set revision = revision + 1 where id = $1 and ${ofThisAccount()} returning 1`;
  return (await tx.query({ name: 'ip_policies.touch', text, values: [id] })).length > 0;
}

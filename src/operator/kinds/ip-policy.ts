/** `IPPolicy`: a set of rules about source addresses, with the rules in its spec. */
import { z } from 'zod';
import { type Client, etagOf, type WriteOptions } from '../../client/client.ts';
import type { View } from '../../resources/definition/resource.ts';
import { ipPolicy } from '../../resources/ip-policy.ts';
import { ipPolicyRule, MAX_RULES_PER_POLICY, ruleSetMember, TOO_MANY_RULES } from '../../resources/ip-policy-rule.ts';
import { type External, type Remote, StaleObject } from '../managed/declaration/external.ts';
import type { SpecOf } from '../managed/declaration/kind.ts';
import { bodyOf, differing, ifExists } from './external-of-family.ts';
import { familyFields } from './family-fields.ts';
import { plainKind } from './plain-kind.ts';
import { specFromFamily } from './spec-from-family.ts';

type Policy = View<typeof ipPolicy> & Remote;
type Rule = View<typeof ipPolicyRule>;
type PolicyWithRules = Policy & { rules: Rule[] };

const ruleFields = familyFields(ipPolicyRule, ['ip_policy_id']);

const spec = {
  rules: z
    .array(z.object(specFromFamily(ruleFields)))
    .max(MAX_RULES_PER_POLICY, TOO_MANY_RULES)
    .default([])
    .meta({
      description:
        'All rules of the policy, at most 1000. They are applied in one transaction. More rules go into further policies: an endpoint configuration or IP restriction can name several.',
      'x-list-map-keys': ['cidr'],
    }),
};

type Spec = SpecOf<typeof spec>;

const RULES = 'Number of rules in the policy.';

export const ipPolicyKind = plainKind(ipPolicy, {
  kind: 'IPPolicy',
  shortNames: ['ipp'],
  calls: (client) => client.ipPolicies,
  spec,
  status: { rules: z.int().optional().meta({ description: RULES }) },
  describe: (_, policy: PolicyWithRules) => ({ rules: policy.rules.length }),
  columns: [{ name: 'Rules', type: 'integer', jsonPath: '.status.rules', description: RULES }],
  external: withRules,
});

function withRules(plain: External<Spec, Policy>, client: Client): External<Spec, PolicyWithRules> {
  async function observe(id: string): Promise<PolicyWithRules | undefined> {
    const [policy, rules] = await Promise.all([plain.observe(id), ifExists(client.rulesOf(id))]);
    if (!policy || !rules) return undefined;
    if (policy.etag !== etagOf(rules)) throw new StaleObject(`${id} changed while it was read`);
    return { ...policy, rules };
  }
  async function withRulesOf(
    spec: Spec,
    policy: PolicyWithRules,
    { manager }: WriteOptions = {},
  ): Promise<PolicyWithRules> {
    if (sameRules(spec, policy.rules)) return policy;
    // The ETag of a policy covers its rules: a rule set that arrives late must not undo a newer one.
    const options = { manager, ifMatch: policy.etag };
    const rules = await client.replaceRules(policy.id, { rules: ruleBodies(spec) }, options);
    return { ...policy, rules, etag: etagOf(rules) };
  }
  return {
    ...plain,
    observe,
    async create(spec, options) {
      const policy = await plain.create(spec, options);
      // A replayed create returns a policy that may already have rules, from an earlier spec.
      const existing = policy.isReplay ? await observe(policy.id) : undefined;
      return withRulesOf(spec, existing ?? { ...policy, rules: [] }, options);
    },
    changes(spec, policy) {
      const changed = plain.changes(spec, policy);
      return sameRules(spec, policy.rules) ? changed : [...changed, 'rules'];
    },
    async update(policy, spec, options) {
      const updated = plain.changes(spec, policy).length > 0 ? await plain.update(policy, spec, options) : policy;
      return withRulesOf(spec, { ...updated, rules: policy.rules }, options);
    },
    async *all(wanted) {
      const rules = new Map<string, Rule[]>();
      for await (const rule of client.ipPolicyRules.list()) {
        const { id } = rule.ip_policy;
        if (wanted && !wanted.has(id)) continue;
        const siblings = rules.get(id);
        if (siblings) siblings.push(rule);
        else rules.set(id, [rule]);
      }
      for await (const policy of plain.all(wanted)) yield { ...policy, rules: rules.get(policy.id) ?? [] };
    },
  };
}

function ruleBodies({ rules }: Spec) {
  return rules.map((rule) => ruleSetMember.parse(bodyOf(ruleFields, rule)));
}

function sameRules({ rules }: Spec, observed: readonly Rule[]): boolean {
  const byCidr = new Map<unknown, Rule>(observed.map((rule) => [rule.cidr, rule]));
  return (
    rules.length === observed.length &&
    rules.every((rule) => {
      const known = byCidr.get(rule.cidr);
      return known !== undefined && differing(ruleFields, rule, known).length === 0;
    })
  );
}

/** `IPPolicy`: a named set of rules about source addresses, with the rules in its spec. */
import { z } from 'zod';
import type { Client } from '../../client/client.ts';
import type { View } from '../../resources/definition/resource.ts';
import { canonicalCidr } from '../../resources/formats/cidr.ts';
import type { ipPolicy } from '../../resources/ip-policy.ts';
import { type ipPolicyRule, MAX_RULES_PER_POLICY, ruleAction } from '../../resources/ip-policy-rule.ts';
import { differing } from '../managed/comparison.ts';
import type { External } from '../managed/external.ts';
import { kind, type SpecOf } from '../managed/kind.ts';
import { closeKey, ifExists } from './calls.ts';
import { cidrRules } from './cel/cidr.ts';
import { description, metadata } from './fields.ts';

type Policy = View<typeof ipPolicy>;
type Rule = View<typeof ipPolicyRule>;
type PolicyWithRules = Policy & { rules: Rule[] };

const spec = {
  description: description('What the source addresses are.'),
  metadata,
  rules: z
    .array(
      z.object({
        cidr: z
          .string()
          .max(64)
          .meta({ description: 'IPv4 or IPv6 CIDR block, without host bits.', 'x-cel': cidrRules }),
        action: ruleAction.meta({ description: 'What happens to traffic from the block.' }),
        description: description('What this block is.'),
        metadata,
      }),
    )
    .max(MAX_RULES_PER_POLICY)
    .default([])
    .meta({ description: 'The whole rule set; applied in one transaction.', 'x-list-map-keys': ['cidr'] }),
};

type Spec = SpecOf<typeof spec>;

export const ipPolicyKind = kind({
  kind: 'IPPolicy',
  plural: 'ippolicies',
  singular: 'ippolicy',
  shortNames: ['ipp'],
  description: 'A set of rules that allow or deny source addresses.',
  spec,
  status: { rules: z.int().optional().meta({ description: 'How many rules the policy has.' }) },
  rules: [],
  printerColumns: [
    { name: 'Rules', type: 'integer', jsonPath: '.status.rules', description: 'How many rules the policy has.' },
    { name: 'ID', type: 'string', jsonPath: '.status.id', description: 'Id in the API.' },
  ],
  external: connect,
  describe: (_, policy) => ({ rules: policy.rules.length }),
});

function connect(client: Client): External<Spec, PolicyWithRules> {
  return {
    async observe(id) {
      const [policy, rules] = await Promise.all([ifExists(client.ipPolicies.get(id)), ifExists(client.rulesOf(id))]);
      return policy && rules && { ...policy, rules };
    },
    async create(spec, idempotencyKey) {
      const policy = await client.ipPolicies.create(policyBody(spec), { idempotencyKey });
      // The answer may be a replay, of a policy that got rules from an earlier spec: without any to set, look.
      const rules =
        spec.rules.length > 0
          ? await client.replaceRules(policy.id, { rules: ruleBodies(spec) })
          : await client.rulesOf(policy.id);
      return { ...policy, rules };
    },
    changes(spec, policy) {
      const changed = differing(policyBody(spec), policy);
      return sameRules(spec, policy.rules) ? changed : [...changed, 'rules'];
    },
    async update(policy, spec) {
      const changed = differing(policyBody(spec), policy);
      const updated = changed.length > 0 ? await client.ipPolicies.update(policy.id, policyBody(spec)) : policy;
      const rules = sameRules(spec, policy.rules)
        ? policy.rules
        : await client.replaceRules(policy.id, { rules: ruleBodies(spec) });
      return { ...updated, rules };
    },
    delete: (id) => ifExists(client.ipPolicies.delete(id)),
    async *all() {
      const rules = new Map<string, Rule[]>();
      for await (const rule of client.ipPolicyRules.list()) {
        const siblings = rules.get(rule.ip_policy_id);
        if (siblings) siblings.push(rule);
        else rules.set(rule.ip_policy_id, [rule]);
      }
      for await (const policy of client.ipPolicies.list()) yield { ...policy, rules: rules.get(policy.id) ?? [] };
    },
    closeKey: (key) => closeKey(client, key),
  };
}

function policyBody(spec: Spec) {
  return { description: spec.description ?? null, metadata: spec.metadata ?? null };
}

function ruleBodies(spec: Spec) {
  return spec.rules.map(({ cidr, action, description = null, metadata = null }) => {
    return { cidr: canonical(cidr), action, description, metadata };
  });
}

function sameRules(spec: Spec, observed: readonly Rule[]): boolean {
  const byCidr = new Map(observed.map((rule) => [rule.cidr, rule]));
  const wanted = ruleBodies(spec);
  if (wanted.length !== observed.length) return false;
  return wanted.every((rule) => {
    const known = byCidr.get(rule.cidr);
    return known !== undefined && differing(rule, known).length === 0;
  });
}

/** What the API will make of the block; one that is none goes as it is, and the API says why. */
function canonical(cidr: string): string {
  const result = canonicalCidr(cidr);
  return 'cidr' in result ? result.cidr : cidr;
}

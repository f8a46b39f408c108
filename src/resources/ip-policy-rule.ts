/** IP policy rules (extension): each allows or denies one CIDR block. */
import { z } from 'zod';
import { belongsTo } from './definition/reference.ts';
import { described, field, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { canonicalCidr } from './formats/cidr.ts';
import { form, pattern, text } from './formats/text.ts';
import { ipPolicy } from './ip-policy.ts';

/** Most rules that one policy may have. */
export const MAX_RULES_PER_POLICY = 1000;

const SPLIT =
  'put the others into further policies: an endpoint configuration or IP restriction can name several policies';
export const TOO_MANY_RULES = `must have at most ${MAX_RULES_PER_POLICY} rules; ${SPLIT}`;
export const NO_MORE_RULES = `this policy already has the maximum of ${MAX_RULES_PER_POLICY} rules; ${SPLIT}`;

const IPV4 = String.raw`(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:/(?:3[0-2]|[12]?\d))?`;
const IPV6 = String.raw`[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]*:(?:[0-9A-Fa-f]{0,4}|[\d.]+)(?:/(?:12[0-8]|1[01]\d|[1-9]?\d))?`;

export const cidr = text()
  .max(64)
  .transform((input, context) => {
    const result = canonicalCidr(input);
    if ('cidr' in result) return result.cidr;
    context.addIssue({ code: 'custom', message: result.reason, input });
    return z.NEVER;
  })
  .meta({
    description:
      'IPv4 or IPv6 CIDR block. Responses show it in canonical form; a block of IPv4-mapped addresses, as in `::ffff:10.0.0.0/104`, is the IPv4 block.',
    examples: ['10.0.0.0/8'],
    ...pattern(new RegExp(`^(?:${IPV4}|${IPV6})$`), 'must be a CIDR block, as in 10.0.0.0/8 or 2001:db8::/32'),
  });

const canonical = z.string().meta({ description: 'CIDR block in canonical form.', examples: ['10.0.0.0/8'] });

export const ruleAction = z
  .enum(['allow', 'deny'])
  .meta({ description: 'Whether traffic from the block is allowed or denied.' });

export const ipPolicyRule = resource({
  name: 'ip_policy_rule',
  title: 'IPPolicyRule',
  prefix: 'ipr',
  path: '/ip_policy_rules',
  collection: 'ip_policy_rules',
  tag: 'IP policies',
  extension: true,
  description: 'Allows or denies one CIDR block in an IP policy. A policy has at most one rule for a block.',
  fields: {
    ...described('What the block is, such as an office network.'),
    cidr: { ...field(canonical, cidr, 'required', true, null), unique: { within: ['ip_policy_id'] } },
    action: required(ruleAction),
    ip_policy_id: belongsTo(ipPolicy, 'ip_policy', 'IP policy that the rule belongs to.'),
  },
  samples: {
    least: { ip_policy_id: '{ip_policy.id}', cidr: '2001:db8:{hex}::/48', action: 'allow' },
    full: { ...DESCRIBED, ip_policy_id: '{ip_policy.id}', cidr: '2001:db8:{hex}::/48', action: 'deny' },
    change: { ...CHANGED, action: 'deny' },
  },
});

/** One rule in the body of `PUT /ip_policies/{id}/rules`. */
export const ruleSetMember = ipPolicyRule.create.omit({ ip_policy_id: true }).meta({ id: 'IPPolicyRuleSetMember' });

/** Body of `PUT /ip_policies/{id}/rules`: the whole rule set of one policy, replaced in one transaction. */
export const ruleSet = z
  .strictObject({
    rules: z
      .array(ruleSetMember)
      .max(MAX_RULES_PER_POLICY, TOO_MANY_RULES)
      .meta({ description: 'All rules that the policy is to have.', ...form({ uniqueItems: true }) }),
  })
  .superRefine(({ rules }, context) => {
    const seen = new Map<string, number>();
    rules.forEach((rule, index) => {
      const first = seen.get(rule.cidr);
      if (first === undefined) seen.set(rule.cidr, index);
      else {
        const message = `is the block ${rule.cidr}, which is already in rules[${first}]; a policy has at most one rule per block`;
        context.addIssue({ code: 'custom', path: ['rules', index, 'cidr'], message, input: rule.cidr });
      }
    });
  })
  .meta({ id: 'IPPolicyRuleSetReplace' });

export type RuleSetMember = z.output<typeof ruleSetMember>;

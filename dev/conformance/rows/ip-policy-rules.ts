import { ipPolicyRule } from '../../../src/resources/ip-policy-rule.ts';
import { created, get, idOf, invalid, ok, patch, post, put, type Row, refTo, refused, type Section } from '../row.ts';

const path = '/ip_policy_rules';
const policy = { policy: post('/ip_policies', {}) };
const shownPolicy = refTo('/ip_policies', 'policy');
const least = { ip_policy_id: '{policy.id}', cidr: '10.0.0.0/8', action: 'allow' };
const make = (more: Readonly<Record<string, unknown>>) => post(path, { ...least, ...more });
const set = '/ip_policies/{policy.id}/rules';
const allow = (cidr: string, more: Readonly<Record<string, unknown>> = {}) => ({ cidr, action: 'allow', ...more });

const shown = (sent: string, cidr: string): Row => ({
  rule: `The block ${sent} is shown as ${cidr}`,
  given: policy,
  ask: make({ cidr: sent }),
  answer: created({ cidr }),
});

const wrong = (rule: string, more: Readonly<Record<string, unknown>>, at: string, reason: RegExp): Row => ({
  rule,
  given: policy,
  ask: make(more),
  answer: invalid({ [at]: reason }),
});

const blocks = (count: number) => Array.from({ length: count }, (_, n) => allow(`10.${n >> 8}.${n & 255}.0/24`));

const single: readonly Row[] = [
  shown('192.0.2.1', '192.0.2.1/32'),
  shown('2001:DB8:0:0::/32', '2001:db8::/32'),
  wrong(
    'Bits set beyond the prefix length of a block are refused',
    { cidr: '10.0.0.1/8' },
    '/cidr',
    /did you mean 10\.0\.0\.0\/8/,
  ),
  wrong(
    'The policy of a rule must exist',
    { ip_policy_id: 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd' },
    '/ip_policy_id',
    /IP policy \w+ does not exist/,
  ),
  {
    rule: 'Block and action of a rule can be changed',
    given: { ...policy, made: make({}) },
    ask: patch(`${path}/{made.id}`, { cidr: '10.1.0.0/16', action: 'deny' }),
    answer: ok({ cidr: '10.1.0.0/16', action: 'deny', ip_policy: shownPolicy }),
    later: [[patch(`${path}/{made.id}`, { action: 'allow' }), ok({ cidr: '10.1.0.0/16', action: 'allow' })]],
  },
  {
    rule: 'A policy has at most one rule for a block, however the block is written',
    given: { ...policy, made: make({ cidr: '10.0.0.1' }), second: make({ cidr: '10.0.0.2' }) },
    ask: make({ cidr: '10.0.0.1/32', action: 'deny' }),
    answer: refused('CONFLICT', { id: '{made.id}' }),
    later: [[patch(`${path}/{second.id}`, { cidr: '10.0.0.1' }), refused('CONFLICT', { id: '{made.id}' })]],
  },
];

const whole: readonly Row[] = [
  {
    rule: 'The rule set of a policy has all its rules, ordered by block, and is not paged',
    given: { ...policy, v6: make({ cidr: '2001:db8::/32' }), v4: make({ action: 'deny', description: 'd' }) },
    ask: get(set),
    answer: ok({
      ip_policy_rules: [
        {
          id: '{v4.id}',
          uri: `{base}${path}/{v4.id}`,
          created_at: '{v4.created_at}',
          cidr: '10.0.0.0/8',
          action: 'deny',
          ip_policy: shownPolicy,
          description: 'd',
          metadata: null,
        },
        { id: '{v6.id}', cidr: '2001:db8::/32' },
      ],
      uri: `{base}${set}`,
      next_page_uri: undefined,
    }),
  },
  {
    rule: 'Replacing the rule set sets exactly these rules',
    given: { ...policy, before: make({ cidr: '172.16.0.0/12' }) },
    ask: put(set, { rules: [allow('192.0.2.1', { description: 'd' }), allow('10.0.0.0/8', { metadata: 'm' })] }),
    answer: ok({
      ip_policy_rules: [
        { id: idOf('ipr'), cidr: '10.0.0.0/8', action: 'allow', description: null, metadata: 'm' },
        { id: idOf('ipr'), cidr: '192.0.2.1/32', action: 'allow', description: 'd', metadata: null },
      ],
      uri: `{base}${set}`,
    }),
    later: [[get(`${path}/{before.id}`), refused('NOT_FOUND')]],
  },
  {
    rule: 'Replacing the rule set keeps the id of a rule whose block stays',
    given: { ...policy, made: make({}) },
    ask: put(set, { rules: [{ cidr: '10.0.0.0/8', action: 'deny' }] }),
    answer: ok({ ip_policy_rules: [{ id: '{made.id}', action: 'deny' }] }),
  },
  {
    rule: 'If a member of a rule set is invalid, the error names it and nothing is stored',
    given: { ...policy, made: make({ cidr: '172.16.0.0/12' }) },
    ask: put(set, { rules: [allow('10.0.0.0/8'), allow('10.0.0.9/8')] }),
    answer: invalid({ '/rules/1/cidr': /did you mean/ }),
    later: [[get(set), ok({ ip_policy_rules: [{ id: '{made.id}' }] })]],
  },
  {
    rule: 'A rule set must not repeat a block, however it is written',
    given: policy,
    ask: put(set, { rules: [allow('10.0.0.1'), allow('10.0.0.1/32')] }),
    answer: invalid({ '/rules/1/cidr': /already in rules\[0\]/ }),
  },
  {
    rule: 'A block of IPv4-mapped addresses is the IPv4 block',
    given: policy,
    ask: put(set, { rules: [allow('10.0.0.0/8'), allow('::ffff:10.0.0.0/104')] }),
    answer: invalid({ '/rules/1/cidr': /is the block 10\.0\.0\.0\/8, which is already in rules\[0\]/ }),
    later: [[put(set, { rules: [allow('::ffff:a00:0/104')] }), ok({ ip_policy_rules: [{ cidr: '10.0.0.0/8' }] })]],
  },
  {
    rule: 'A policy has at most 1000 rules',
    given: { ...policy, full: put(set, { rules: blocks(1000) }) },
    ask: make({ cidr: '192.0.2.0/24' }),
    answer: invalid({ '/ip_policy_id': /1000 rules; put the others into further policies/ }),
    later: [[put(set, { rules: blocks(1001) }), invalid({ '/rules': /1000 rules; put the others into further/ })]],
  },
];

export const ipPolicyRules: Section = {
  title: 'Extension: IP policy rules',
  family: ipPolicyRule,
  rows: [...single, ...whole],
};

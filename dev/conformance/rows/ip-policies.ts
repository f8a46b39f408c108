import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { del, get, noContent, ok, patch, post, refTo, refused, type Section } from '../row.ts';

const path = '/ip_policies';
const policy = { policy: post(path, {}) };
const rule = post('/ip_policy_rules', { ip_policy_id: '{policy.id}', cidr: '10.0.0.0/8', action: 'deny' });

export const ipPolicies: Section = {
  title: 'IP policies',
  family: ipPolicy,
  rows: [
    {
      rule: 'Deleting an IP policy that an endpoint configuration refers to keeps the reference, which then means no rules',
      given: {
        ...policy,
        rule,
        configuration: post('/endpoint_configurations', { type: 'http', ip_policy_ids: ['{policy.id}'] }),
      },
      ask: del(`${path}/{policy.id}`),
      answer: noContent,
      later: [
        [get('/endpoint_configurations/{configuration.id}'), ok({ ip_policies: [refTo(path, 'policy')] })],
        [get('/ip_policy_rules/{rule.id}'), refused('NOT_FOUND')],
        [get(`${path}/{policy.id}/rules`), refused('NOT_FOUND')],
      ],
    },
    {
      rule: 'A resource that refers to a deleted IP policy may be written back unchanged',
      given: {
        ...policy,
        configuration: post('/endpoint_configurations', { type: 'http', ip_policy_ids: ['{policy.id}'] }),
        gone: del(`${path}/{policy.id}`),
      },
      ask: patch('/endpoint_configurations/{configuration.id}', {
        description: 'written back',
        ip_policy_ids: ['{policy.id}'],
      }),
      answer: ok({ description: 'written back', ip_policies: [refTo(path, 'policy')] }),
    },
  ],
};

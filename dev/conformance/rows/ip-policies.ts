import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { created, del, get, idOf, noContent, ok, patch, post, put, refTo, refused, type Section } from '../row.ts';

const path = '/ip_policies';
const policy = { policy: post(path, {}) };
const rule = post('/ip_policy_rules', { ip_policy_id: '{policy.id}', cidr: '10.0.0.0/8', action: 'deny' });
const edge = { edge: post('/edges/tls', {}) };
const restriction = '/edges/tls/{edge.id}/ip_restriction';

export const ipPolicies: Section = {
  title: 'IP policies',
  family: ipPolicy,
  rows: [
    {
      rule: 'Users and bots may create, change and delete IP policies, too',
      given: { made: post(path, {}, { as: 'user' }) },
      ask: patch(`${path}/{made.id}`, { description: 'by a bot' }, { as: 'bot' }),
      answer: ok({ description: 'by a bot' }),
      later: [[del(`${path}/{made.id}`, { as: 'user' }), noContent]],
    },
    {
      rule: 'A new IP policy has no rules, and nothing refers to it',
      given: policy,
      ask: get(`${path}/{policy.id}/rules`),
      answer: ok({ ip_policy_rules: [] }),
      later: [[del(`${path}/{policy.id}`), noContent]],
    },
    {
      rule: 'An IP policy takes effect when an endpoint configuration refers to it',
      given: policy,
      ask: post('/endpoint_configurations', { type: 'tcp', ip_policy_ids: ['{policy.id}'] }),
      answer: created({ id: idOf('ec'), ip_policies: [refTo(path, 'policy')] }),
    },
    {
      rule: 'An IP policy takes effect when the IP restriction of an edge refers to it',
      given: { ...policy, ...edge },
      ask: put(restriction, { ip_policy_ids: ['{policy.id}'] }),
      answer: ok({ ip_policies: [refTo(path, 'policy')] }),
    },
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
      rule: 'Deleting an IP policy that an IP restriction refers to keeps the reference, which then means no rules',
      given: { ...policy, rule, ...edge, restricted: put(restriction, { ip_policy_ids: ['{policy.id}'] }) },
      ask: del(`${path}/{policy.id}`),
      answer: noContent,
      later: [
        [get(restriction), ok({ enabled: true, ip_policies: [refTo(path, 'policy')] })],
        [get('/ip_policy_rules/{rule.id}'), refused('NOT_FOUND')],
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

import { endpointConfiguration } from '../../../src/resources/endpoint-configuration.ts';
import { created, del, invalid, patch, post, type Section } from '../row.ts';

const path = '/endpoint_configurations';
const least = { type: 'http' };
const policies = { one: post('/ip_policies', {}), two: post('/ip_policies', {}) };
const both = { ip_policy_ids: ['{one.id}', '{two.id}'] };

export const endpointConfigurations: Section = {
  title: 'Extension: endpoint configurations',
  family: endpointConfiguration,
  rows: [
    {
      rule: 'An endpoint configuration is of one of four types; others, and types in capitals, are refused',
      ask: post(path, { type: 'udp' }),
      answer: invalid({ '/type': /http/ }),
      later: [
        [post(path, { type: 'HTTP' }), invalid({ '/type': 'must be "http", "https", "tcp" or "tls"' })],
        ...['http', 'https', 'tcp', 'tls'].map((type) => [post(path, { type }), created({ type })] as const),
      ],
    },
    {
      rule: 'A deleted IP policy that was removed from the list cannot be added again',
      given: {
        ...policies,
        made: post(path, { ...least, ...both }),
        gone: del('/ip_policies/{two.id}'),
        without: patch(`${path}/{made.id}`, { ip_policy_ids: ['{one.id}'] }),
      },
      ask: patch(`${path}/{made.id}`, both),
      answer: invalid({ '/ip_policy_ids/1': 'IP policy {two.id} does not exist' }),
    },
  ],
};

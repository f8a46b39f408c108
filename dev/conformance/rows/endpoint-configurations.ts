import { endpointConfiguration } from '../../../src/resources/endpoint-configuration.ts';
import { created, del, invalid, patch, post, type Row, type Section } from '../row.ts';

const path = '/endpoint_configurations';
const least = { type: 'http' };
const policies = { one: post('/ip_policies', {}), two: post('/ip_policies', {}) };
const both = { ip_policy_ids: ['{one.id}', '{two.id}'] };

const typed = (type: string): Row => ({
  rule: `An endpoint configuration may be of type ${type}`,
  ask: post(path, { type }),
  answer: created({ type }),
});

export const endpointConfigurations: Section = {
  title: 'Extension: endpoint configurations',
  family: endpointConfiguration,
  rows: [
    ...['http', 'https', 'tcp', 'tls'].map(typed),
    {
      rule: 'Other types of endpoint configurations, and types in capitals, are refused',
      ask: post(path, { type: 'udp' }),
      answer: invalid({ '/type': /http/ }),
      later: [[post(path, { type: 'HTTP' }), invalid({ '/type': 'must be "http", "https", "tcp" or "tls"' })]],
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

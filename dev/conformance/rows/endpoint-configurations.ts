import { endpointConfiguration } from '../../../src/resources/endpoint-configuration.ts';
import { created, del, invalid, noContent, ok, patch, post, type Row, refTo, refused, type Section } from '../row.ts';

const path = '/endpoint_configurations';
const least = { type: 'http' };
const policies = { one: post('/ip_policies', {}), two: post('/ip_policies', {}) };
const both = { ip_policy_ids: ['{one.id}', '{two.id}'] };
const shown = [refTo('/ip_policies', 'one'), refTo('/ip_policies', 'two')];
const NOBODY = 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd';
const TOO_MANY = Array.from({ length: 51 }, (_, n) => `ipp_01k9zq3v5hf8svx2r4c6y7n0${10 + n}`);

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
      rule: 'An endpoint configuration may not have another type, nor one in capitals',
      ask: post(path, { type: 'udp' }),
      answer: invalid({ '/type': /http/ }),
      later: [[post(path, { type: 'HTTP' }), invalid({ '/type': 'must be "http", "https", "tcp" or "tls"' })]],
    },
    {
      rule: 'The type of an endpoint configuration cannot be changed',
      given: { made: post(path, least) },
      ask: patch(`${path}/{made.id}`, { type: 'https' }),
      answer: invalid({ '/type': 'cannot be changed' }),
    },
    {
      rule: 'An endpoint configuration has no IP policies by default',
      ask: post(path, least),
      answer: created({ ip_policies: [] }),
    },
    {
      rule: 'The IP policies of an endpoint configuration are given by id and shown as Refs, in the same order',
      given: policies,
      ask: post(path, { ...least, ...both }),
      answer: created({ ip_policies: shown }),
    },
    {
      rule: 'An update replaces the list of IP policies; null or an empty list clears it',
      given: { ...policies, made: post(path, { ...least, ...both }) },
      ask: patch(`${path}/{made.id}`, { ip_policy_ids: ['{two.id}', '{one.id}'] }),
      answer: ok({ ip_policies: shown.toReversed() }),
      later: [
        [patch(`${path}/{made.id}`, { ip_policy_ids: null }), ok({ ip_policies: [] })],
        [patch(`${path}/{made.id}`, { ip_policy_ids: ['{one.id}'] }), ok({ ip_policies: shown.slice(0, 1) })],
        [patch(`${path}/{made.id}`, { ip_policy_ids: [] }), ok({ ip_policies: [] })],
      ],
    },
    {
      rule: 'An id in a list that does not exist is refused, with its index',
      given: policies,
      ask: post(path, { ...least, ip_policy_ids: ['{one.id}', NOBODY] }),
      answer: invalid({ '/ip_policy_ids/1': `IP policy ${NOBODY} does not exist` }),
    },
    {
      rule: 'An id of another family in a list is refused, with its index',
      ask: post(path, { ...least, ip_policy_ids: ['{user.id}'] }),
      answer: invalid({ '/ip_policy_ids/0': /ipp_/ }),
    },
    {
      rule: 'A repeated id in a list is refused, with the index of the second',
      given: policies,
      ask: post(path, { ...least, ip_policy_ids: ['{one.id}', '{two.id}', '{one.id}'] }),
      answer: invalid({ '/ip_policy_ids/2': 'is already at index 0' }),
    },
    {
      rule: 'An endpoint configuration has at most 50 IP policies',
      ask: post(path, { ...least, ip_policy_ids: TOO_MANY }),
      answer: invalid({ '/ip_policy_ids': /at most 50/ }),
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
    {
      rule: 'An endpoint configuration cannot be deleted while a domain is bound to it',
      given: {
        made: post(path, least),
        domain: post('/reserved_domains', { domain: '{unique}.example.net' }),
        bound: patch('/reserved_domains/{domain.id}', { http_endpoint_configuration_id: '{made.id}' }),
      },
      ask: del(`${path}/{made.id}`),
      answer: refused('RESOURCE_IN_USE', { reserved_domain: '{domain.id}' }),
      later: [
        [del('/reserved_domains/{domain.id}'), noContent],
        [del(`${path}/{made.id}`), noContent],
      ],
    },
  ],
};

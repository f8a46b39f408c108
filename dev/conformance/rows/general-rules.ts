/** What holds for every resource: ids, addresses, times, pointers at others, what was never set, envelopes. */
import type { Resource } from '../../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { created, get, idOf, invalid, not, ok, patch, post, type Row, refTo, type Section, TIMESTAMP } from '../row.ts';
import { subjectOf } from '../subject.ts';

const uploaded = { certificate_pem: '{pem.leaf}', private_key_pem: '{pem.leaf_key}' };

/** The prefixes that the contract has; those of extensions are ours. */
const PREFIXES: Readonly<Record<string, string>> = {
  ip_policy: 'ipp',
  credential: 'cr',
  http_response_backend: 'bkdhr',
  reserved_domain: 'rd',
  tls_certificate: 'cert',
  certificate_authority: 'ca',
  ssh_host_certificate: 'shcrt',
  ssh_certificate_authority: 'sshca',
  bot_user: 'bot',
  user: 'usr',
  endpoint_configuration: 'ec',
  event_subscription: 'esb',
  event_destination: 'ed',
  https_edge: 'edghts',
  https_edge_route: 'edghtsrt',
  tls_edge: 'edgtls',
  tunnel_group_backend: 'bkdtg',
};

function identity(family: Resource): Row {
  const { one, path, least, given } = subjectOf(family);
  const prefix = PREFIXES[family.name] ?? family.prefix;
  return {
    rule: `The id of ${one} starts with ${prefix}_, its address ends with the id, and its creation time is in RFC 3339`,
    given: { ...given, made: post(path, least) },
    ask: get(`${path}/{made.id}`),
    answer: ok({ id: idOf(prefix), uri: `{base}${path}/{made.id}`, created_at: TIMESTAMP }),
  };
}

const certificate = { certificate: post('/tls_certificates', uploaded) };

export const generalRules: Section = {
  title: 'General rules',
  rows: [
    ...FAMILIES.map(identity),
    {
      rule: 'No two resources have the same id, also if they are the same otherwise',
      given: { earlier: post('/ip_policies', { description: 'twin' }) },
      ask: post('/ip_policies', { description: 'twin' }),
      answer: created({ id: not('{earlier.id}') }),
    },
    {
      rule: 'The service sets ids, addresses and creation times: a request may not contain them',
      ask: post('/ip_policies', { id: 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd', uri: 'x', created_at: '2026-01-01T00:00:00Z' }),
      answer: invalid({
        '/id': 'is set by the service',
        '/uri': 'is set by the service',
        '/created_at': 'is set by the service',
      }),
      later: [[post('/ip_policies', { id: null, uri: '', created_at: null }), created({ id: idOf('ipp') })]],
    },
    {
      rule: 'Id, address and creation time never change',
      given: { made: post('/ip_policies', {}) },
      ask: patch('/ip_policies/{made.id}', { description: 'changed' }),
      answer: ok({ id: '{made.id}', uri: '{made.uri}', created_at: '{made.created_at}' }),
    },
    {
      rule: 'An id in a path must belong to that family: the id of another family is not found',
      given: { policy: post('/ip_policies', {}) },
      ask: get('/credentials/{policy.id}'),
      answer: { status: 404, body: { error_code: 'NOT_FOUND', details: { id: /cr_/ } } },
    },
    {
      rule: 'A Ref has the id and address of the resource it points to, which can be read there',
      given: certificate,
      ask: post('/reserved_domains', { domain: '{unique}.example.net', certificate_id: '{certificate.id}' }),
      answer: created({ certificate: refTo('/tls_certificates', 'certificate') }),
      later: [[get('/tls_certificates/{certificate.id}'), ok({ id: '{certificate.id}', uri: '{certificate.uri}' })]],
    },
    {
      rule: 'An optional field is null until it is set',
      ask: post('/reserved_domains', { domain: '{unique}.example.net' }),
      answer: created({
        description: null,
        metadata: null,
        region: null,
        certificate: null,
        certificate_management_policy: null,
        certificate_management_status: null,
        http_endpoint_configuration: null,
        https_endpoint_configuration: null,
      }),
    },
    {
      rule: 'An empty string is not the same as a value that was never set',
      ask: post('/ip_policies', { description: '' }),
      answer: created({ description: '', metadata: null }),
    },
    {
      rule: 'An empty list still has its named array, its address and a next page of null',
      ask: get('/ip_policies?before_id=ipp_00000000000000000000000000'),
      answer: ok({ ip_policies: [], uri: '{base}/ip_policies', next_page_uri: null }),
    },
  ],
};

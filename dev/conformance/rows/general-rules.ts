/** What holds for every resource: ids, addresses, times, pointers at others, what was never set, envelopes. */
import {
  created,
  get,
  idOf,
  invalid,
  not,
  ok,
  patch,
  post,
  type Row,
  refTo,
  type Section,
  type Step,
  TIMESTAMP,
} from '../row.ts';

interface Kind {
  readonly one: string;
  readonly prefix: string;
  readonly path: string;
  readonly least: Readonly<Record<string, unknown>>;
  readonly given?: Readonly<Record<string, Step>>;
}

const authority = { authority: post('/ssh_certificate_authorities', {}) };
const edge = { edge: post('/edges/https', {}) };
const uploaded = { certificate_pem: '{pem.leaf}', private_key_pem: '{pem.leaf_key}' };

/** Every family whose prefix the contract has. */
const KINDS: readonly Kind[] = [
  { one: 'an IP policy', prefix: 'ipp', path: '/ip_policies', least: {} },
  { one: 'a tunnel credential', prefix: 'cr', path: '/credentials', least: {} },
  { one: 'an HTTP response backend', prefix: 'bkdhr', path: '/backends/http_response', least: {} },
  { one: 'a reserved domain', prefix: 'rd', path: '/reserved_domains', least: { domain: '{unique}.example.net' } },
  { one: 'a TLS certificate', prefix: 'cert', path: '/tls_certificates', least: uploaded },
  { one: 'a certificate authority', prefix: 'ca', path: '/certificate_authorities', least: { ca_pem: '{pem.ca}' } },
  {
    one: 'an SSH host certificate',
    prefix: 'shcrt',
    path: '/ssh_host_certificates',
    least: { ssh_certificate_authority_id: '{authority.id}', public_key: '{ssh.ed25519}' },
    given: authority,
  },
  { one: 'an SSH certificate authority', prefix: 'sshca', path: '/ssh_certificate_authorities', least: {} },
  { one: 'a bot user', prefix: 'bot', path: '/bot_users', least: { name: 'a bot' } },
  { one: 'a user', prefix: 'usr', path: '/users', least: { name: 'Ada' } },
  { one: 'an endpoint configuration', prefix: 'ec', path: '/endpoint_configurations', least: { type: 'http' } },
  { one: 'an event subscription', prefix: 'esb', path: '/event_subscriptions', least: {} },
  {
    one: 'an event destination',
    prefix: 'ed',
    path: '/event_destinations',
    least: { target: { webhook: { url: 'https://hooks.example.com/' } } },
  },
  { one: 'an HTTPS edge', prefix: 'edghts', path: '/edges/https', least: {} },
  {
    one: 'a route of an HTTPS edge',
    prefix: 'edghtsrt',
    path: '/edges/https/{edge.id}/routes',
    least: { match: '/', match_type: 'path_prefix' },
    given: edge,
  },
  { one: 'a TLS edge', prefix: 'edgtls', path: '/edges/tls', least: {} },
  {
    one: 'a tunnel-group backend',
    prefix: 'bkdtg',
    path: '/backends/tunnel_group',
    least: { labels: { app: 'web' } },
  },
];

const identity = ({ one, prefix, path, least, given = {} }: Kind): Row => ({
  rule: `The id of ${one} begins with ${prefix}_, its address ends with the id, and its time is in RFC 3339`,
  given: { ...given, made: post(path, least) },
  ask: get(`${path}/{made.id}`),
  answer: ok({ id: idOf(prefix), uri: `{base}${path}/{made.id}`, created_at: TIMESTAMP }),
});

const certificate = { certificate: post('/tls_certificates', uploaded) };

export const generalRules: Section = {
  title: 'General rules',
  rows: [
    ...KINDS.map(identity),
    {
      rule: 'No two resources have the same id, also if they are the same otherwise',
      given: { earlier: post('/ip_policies', { description: 'twin' }) },
      ask: post('/ip_policies', { description: 'twin' }),
      answer: created({ id: not('{earlier.id}') }),
    },
    {
      rule: 'The service chooses ids, addresses and times: no request may bring them',
      ask: post('/ip_policies', { id: 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd', uri: 'x', created_at: '2026-01-01T00:00:00Z' }),
      answer: invalid({ '/id': 'unknown field', '/uri': 'unknown field', '/created_at': 'unknown field' }),
    },
    {
      rule: 'An id, an address and a time stay for life',
      given: { made: post('/ip_policies', {}) },
      ask: patch('/ip_policies/{made.id}', { description: 'changed' }),
      answer: ok({ id: '{made.id}', uri: '{made.uri}', created_at: '{made.created_at}' }),
    },
    {
      rule: 'An id in a path may be of that family only: an id of another one names nothing',
      given: { policy: post('/ip_policies', {}) },
      ask: get('/credentials/{policy.id}'),
      answer: { status: 404, body: { error_code: 'NOT_FOUND', details: { id: /cr_/ } } },
    },
    {
      rule: 'A Ref has the id and the address of what it points at, where that can be read',
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
      rule: 'A text that is empty is not the same as one that was never set',
      ask: post('/ip_policies', { description: '' }),
      answer: created({ description: '', metadata: null }),
    },
    {
      rule: 'A list with nothing in it has its named array, its address and a next page of null all the same',
      ask: get('/ip_policies?before_id=ipp_00000000000000000000000000'),
      answer: ok({ ip_policies: [], uri: '{base}/ip_policies', next_page_uri: null }),
    },
  ],
};

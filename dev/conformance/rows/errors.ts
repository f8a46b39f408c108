/** The catalogue of errors: how each looks, and what leads to it. */
import { del, get, NOBODY, noContent, patch, post, put, refused, type Section } from '../row.ts';

const policy = { policy: post('/ip_policies', {}) };
const rule = (cidr: string) => post('/ip_policy_rules', { ip_policy_id: '{policy.id}', cidr, action: 'allow' });
const configured = {
  ...policy,
  configuration: post('/endpoint_configurations', { type: 'http' }),
  domain: post('/reserved_domains', { domain: '{unique}.example.net' }),
  bound: patch('/reserved_domains/{domain.id}', { http_endpoint_configuration_id: '{configuration.id}' }),
};
const certified = (name: string) =>
  post('/reserved_domains', { domain: `${name}-{unique}.example.com`, certificate_id: '{certificate.id}' });
const TOO_LARGE = 'x'.repeat(1024 * 1024);
const under = { headers: { 'idempotency-key': 'other-{unique}' } };

export const errors: Section = {
  title: 'Errors',
  rows: [
    {
      rule: 'An error has a code, the status, a message and flat details with the id of the request',
      ask: get('/ip_policies/nonsense', { headers: { 'x-request-id': 'mine-{unique}' } }),
      answer: {
        status: 404,
        headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'mine-{unique}' },
        body: {
          error_code: 'NOT_FOUND',
          status_code: 404,
          msg: /./,
          details: { id: /ipp_/, request_id: 'mine-{unique}' },
        },
      },
    },
    {
      rule: 'INVALID_REQUEST, 400: details list what is wrong',
      ask: post('/ip_policies', { description: 7 }),
      answer: {
        status: 400,
        body: {
          error_code: 'INVALID_REQUEST',
          status_code: 400,
          msg: '/description: must be a string, not a number',
          details: { '/description': 'must be a string, not a number', request_id: /./ },
        },
      },
    },
    {
      rule: 'UNAUTHENTICATED, 401: the caller is unknown',
      ask: get('/ip_policies', { as: 'anonymous' }),
      answer: refused('UNAUTHENTICATED', { request_id: /./ }),
    },
    {
      rule: 'PERMISSION_DENIED, 403: the caller is known, but not allowed',
      ask: get('/users', { as: 'user' }),
      answer: refused('PERMISSION_DENIED', { request_id: /./ }),
    },
    {
      rule: 'QUOTA_EXCEEDED, 403: the account may have no more of the family',
      given: { team: post('/accounts', { name: 'team {unique}', quotas: { ip_policies: 0 } }) },
      ask: post('/ip_policies', {}, { headers: { account: '{team.id}' } }),
      answer: refused('QUOTA_EXCEEDED', { family: 'ip_policies', limit: '0', used: '0', request_id: /./ }),
    },
    {
      rule: 'NOT_FOUND, 404: the id does not exist',
      ask: get(`/ip_policies/ipp_${NOBODY}`),
      answer: refused('NOT_FOUND', { id: `ipp_${NOBODY}` }),
    },
    {
      rule: 'NOT_FOUND, 404: the caller may not see the resource',
      given: { made: post('/credentials', {}) },
      ask: get('/credentials/{made.id}', { as: 'user' }),
      answer: refused('NOT_FOUND', { id: '{made.id}' }),
    },
    {
      rule: 'NOT_FOUND, 404: the path does not exist',
      ask: get('/nothing', { as: 'anonymous' }),
      answer: refused('NOT_FOUND'),
    },
    {
      rule: 'METHOD_NOT_ALLOWED, 405: the path supports other methods, listed in Allow',
      ask: put('/ip_policies', {}, { as: 'anonymous' }),
      answer: {
        ...refused('METHOD_NOT_ALLOWED', { allow: 'GET, HEAD, POST' }),
        headers: { allow: 'GET, HEAD, POST' },
      },
    },
    {
      rule: 'CONFLICT, 409: it already exists; details name the existing one',
      given: { ...policy, made: rule('10.0.0.0/8') },
      ask: rule('10.0.0.0/8'),
      answer: refused('CONFLICT', { id: '{made.id}', '/cidr': /{made.id}/ }),
    },
    {
      rule: 'RESOURCE_IN_USE, 409: others refer to it; details list their ids by family',
      given: configured,
      ask: del('/endpoint_configurations/{configuration.id}'),
      answer: refused('RESOURCE_IN_USE', { reserved_domain: '{domain.id}' }),
    },
    {
      rule: 'RESOURCE_IN_USE, 409: details list at most five referrers of a family',
      given: {
        certificate: post('/tls_certificates', { certificate_pem: '{pem.leaf}', private_key_pem: '{pem.leaf_key}' }),
        ...Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, certified(name)])),
      },
      ask: del('/tls_certificates/{certificate.id}'),
      answer: refused('RESOURCE_IN_USE', { reserved_domain: /^{a.id}, {b.id}, {c.id}, {d.id}, {e.id}, …$/ }),
      later: [
        [del('/reserved_domains/{f.id}'), noContent],
        [
          del('/tls_certificates/{certificate.id}'),
          refused('RESOURCE_IN_USE', { reserved_domain: '{a.id}, {b.id}, {c.id}, {d.id}, {e.id}' }),
        ],
      ],
    },
    {
      rule: 'PRECONDITION_FAILED, 412: the resource is at another revision; details have its tag',
      given: policy,
      ask: patch('/ip_policies/{policy.id}', {}, { headers: { 'if-match': '"99"' } }),
      answer: refused('PRECONDITION_FAILED', { etag: '"1"' }),
    },
    {
      rule: 'PAYLOAD_TOO_LARGE, 413: the body has more than 1 MiB',
      ask: post('/ip_policies', { metadata: TOO_LARGE }),
      answer: refused('PAYLOAD_TOO_LARGE'),
    },
    {
      rule: 'UNSUPPORTED_MEDIA_TYPE, 415: the body is not declared as JSON in UTF-8, or is compressed',
      ask: post('/ip_policies', 'description=x', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
      answer: refused('UNSUPPORTED_MEDIA_TYPE'),
      later: [
        [
          post('/ip_policies', {}, { headers: { 'content-type': 'application/json; charset=latin1' } }),
          refused('UNSUPPORTED_MEDIA_TYPE'),
        ],
        [
          post('/ip_policies', {}, { headers: { 'content-encoding': 'gzip' } }),
          { ...refused('UNSUPPORTED_MEDIA_TYPE'), headers: { 'accept-encoding': 'identity' } },
        ],
      ],
    },
    {
      rule: 'IDEMPOTENCY_KEY_REUSED, 422: the key created something else; details name it',
      given: { made: post('/ip_policies', { description: 'one' }, under) },
      ask: post('/ip_policies', { description: 'another' }, under),
      answer: refused('IDEMPOTENCY_KEY_REUSED', { resource_id: '{made.id}' }),
    },
  ],
};

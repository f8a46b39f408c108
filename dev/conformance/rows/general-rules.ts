import { created, get, invalid, not, post, type Section } from '../row.ts';

export const generalRules: Section = {
  title: 'General rules',
  rows: [
    {
      rule: 'No two resources have the same id, even if they are otherwise identical',
      given: { earlier: post('/ip_policies', { description: 'twin' }) },
      ask: post('/ip_policies', { description: 'twin' }),
      answer: created({ id: not('{earlier.id}') }),
    },
    {
      rule: 'An id in a path must belong to that family: the id of another family is not found',
      given: { policy: post('/ip_policies', {}) },
      ask: get('/credentials/{policy.id}'),
      answer: { status: 404, body: { error_code: 'NOT_FOUND', details: { id: /cr_/ } } },
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
      rule: 'A description is one line; metadata may have several; neither has other control characters',
      ask: post('/ip_policies', { description: 'a\nb', metadata: 'a\u0085' }),
      answer: invalid({ '/description': /line breaks/, '/metadata': /other than tab and newline/ }),
      later: [
        [post('/ip_policies', { metadata: 'a:\r\n\tb\n' }), created({ metadata: 'a:\r\n\tb\n' })],
        [
          post('/event_subscriptions', { description: '\u202ea', metadata: 'a\u2066' }),
          invalid({ '/description': /bidirectional/, '/metadata': /bidirectional/ }),
        ],
      ],
    },
    {
      rule: 'An empty string is not the same as a value that was never set',
      ask: post('/ip_policies', { description: '' }),
      answer: created({ description: '', metadata: null }),
    },
  ],
};

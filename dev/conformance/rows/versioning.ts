/** The version of the API in requests, and those of other things. */
import { created, get, invalid, ok, post, type Row, type Section } from '../row.ts';

const speaking = (version: string) => get('/ip_policies?limit=1', { headers: { 'service-version': version } });

const refusedVersion = (version: string): Row => ({
  rule: `Service-Version may not be ${version === '' ? 'empty' : `"${version}"`}`,
  ask: speaking(version),
  answer: invalid({ 'Service-Version': /2/ }),
});

export const versioning: Section = {
  title: 'Versioning',
  rows: [
    {
      rule: 'Service-Version is 2, and the response repeats it',
      ask: speaking('2'),
      answer: { ...ok({ uri: '{base}/ip_policies' }), headers: { 'service-version': '2' } },
    },
    ...['1', '3', '2.0', 'latest', ''].map(refusedVersion),
    {
      rule: 'The type of an event ends with its version',
      ask: post('/event_subscriptions', { sources: [{ type: 'ip_policy_created.v0' }] }),
      answer: created({ sources: [{ type: 'ip_policy_created.v0' }] }),
      later: [
        [
          post('/event_subscriptions', { sources: [{ type: 'ip_policy_created' }] }),
          invalid({ '/sources/0/type': /ip_policy_created\.v0/ }),
        ],
        [
          post('/event_subscriptions', { sources: [{ type: 'ip_policy_created.v1' }] }),
          invalid({ '/sources/0/type': /ip_policy_created\.v0/ }),
        ],
      ],
    },
    {
      rule: 'The region of a reserved domain is documented as deprecated',
      ask: get('/openapi.json', { as: 'anonymous' }),
      answer: ok({ components: { schemas: { ReservedDomain: { properties: { region: { deprecated: true } } } } } }),
    },
  ],
};

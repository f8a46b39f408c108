/** Reserved domains, without their names (domain-names.ts) and certificates (domain-certificates.ts). */
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import {
  created,
  del,
  get,
  invalid,
  noContent,
  ok,
  patch,
  post,
  type Row,
  refTo,
  refused,
  type Section,
} from '../row.ts';
import { domainCertificates } from './domain-certificates.ts';
import { domainNames } from './domain-names.ts';

const path = '/reserved_domains';
const least = { domain: '{unique}.example.com' };
const made = { made: post(path, least) };
const one = `${path}/{made.id}`;
const NOBODY = 'ec_01k9zq3v5hf8svx2r4c6y7n0wd';

const inRegion = (region: string): Row => ({
  rule: `A domain may be in the region ${region}`,
  ask: post(path, { ...least, region }),
  answer: created({ region }),
});

/** Binding endpoint configurations of one type. */
function bound(type: 'http' | 'https'): Row[] {
  const field = `${type}_endpoint_configuration`;
  const bind = (id: string | null) => patch(one, { [`${field}_id`]: id });
  const other = type === 'http' ? 'https' : 'http';
  const given = {
    ...made,
    configuration: post('/endpoint_configurations', { type }),
    other: post('/endpoint_configurations', { type: other }),
    tcp: post('/endpoint_configurations', { type: 'tcp' }),
  };
  const shown = refTo('/endpoint_configurations', 'configuration');
  return [
    {
      rule: `A domain has no endpoint configuration for ${type} until one is bound`,
      ask: post(path, least),
      answer: created({ [field]: null }),
    },
    {
      rule: `An update binds an endpoint configuration for ${type}, which is shown as a Ref; null unbinds it`,
      given,
      ask: bind('{configuration.id}'),
      answer: ok({ [field]: shown, [`${other}_endpoint_configuration`]: null }),
      later: [
        [get(one), ok({ [field]: shown })],
        [bind(null), ok({ [field]: null })],
      ],
    },
    {
      rule: `An endpoint configuration for ${type} must be of that type`,
      given,
      ask: bind('{other.id}'),
      answer: invalid({ [`/${field}_id`]: new RegExp(`must be of type ${type}`) }),
      later: [
        [bind('{tcp.id}'), invalid({ [`/${field}_id`]: new RegExp(`must be of type ${type}`) })],
        [get(one), ok({ [field]: null })],
      ],
    },
    {
      rule: `An endpoint configuration for ${type} must exist`,
      given,
      ask: bind(NOBODY),
      answer: invalid({ [`/${field}_id`]: `endpoint configuration ${NOBODY} does not exist` }),
      later: [[bind('{user.id}'), invalid({ [`/${field}_id`]: /ec_/ })]],
    },
    {
      rule: `An endpoint configuration for ${type} cannot be bound by a create`,
      given,
      ask: post(path, { domain: 'other-{unique}.example.com', [`${field}_id`]: '{configuration.id}' }),
      answer: invalid({ [`/${field}_id`]: 'cannot be set on create; set it by PATCH' }),
    },
    {
      rule: `An endpoint configuration that is bound for ${type} cannot be deleted until it is unbound`,
      given: { ...given, bound: bind('{configuration.id}') },
      ask: del('/endpoint_configurations/{configuration.id}'),
      answer: refused('RESOURCE_IN_USE', { reserved_domain: '{made.id}' }),
      later: [
        [bind(null), ok({ [field]: null })],
        [del('/endpoint_configurations/{configuration.id}'), noContent],
      ],
    },
  ];
}

export const reservedDomains: Section = {
  title: 'Reserved domains',
  family: reservedDomain,
  rows: [
    {
      rule: 'A domain may be created with every field but a policy, and shows all of them',
      given: {
        certificate: post('/tls_certificates', { certificate_pem: '{pem.leaf}', private_key_pem: '{pem.leaf_key}' }),
        made: post(path, {
          ...least,
          region: 'eu',
          description: 'd',
          metadata: 'm',
          certificate_id: '{certificate.id}',
        }),
      },
      ask: get(one),
      answer: ok({
        ...least,
        id: '{made.id}',
        uri: `{base}${one}`,
        created_at: '{made.created_at}',
        region: 'eu',
        description: 'd',
        metadata: 'm',
        cname_target: '{made.cname_target}',
        acme_challenge_cname_target: null,
        certificate: refTo('/tls_certificates', 'certificate'),
        certificate_management_policy: null,
        certificate_management_status: null,
        http_endpoint_configuration: null,
        https_endpoint_configuration: null,
      }),
    },
    {
      rule: 'Users and bots may reserve, change and delete domains, too',
      given: { made: post(path, least, { as: 'user' }) },
      ask: patch(one, { description: 'by a bot' }, { as: 'bot' }),
      answer: ok({ description: 'by a bot' }),
      later: [[del(one, { as: 'user' }), noContent]],
    },
    ...domainNames,
    {
      rule: 'The region of a domain is null by default',
      ask: post(path, least),
      answer: created({ region: null }),
      later: [[post(path, { domain: 'other-{unique}.example.com', region: null }), created({ region: null })]],
    },
    ...['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa'].map(inRegion),
    {
      rule: 'Other regions, and regions in capitals, are refused',
      ask: post(path, { ...least, region: 'mars' }),
      answer: invalid({ '/region': /au/ }),
      later: [[post(path, { ...least, region: 'EU' }), invalid({ '/region': /au/ })]],
    },
    {
      rule: 'The region of a domain cannot be changed',
      given: made,
      ask: patch(one, { region: 'us' }),
      answer: invalid({ '/region': 'cannot be changed' }),
    },
    ...domainCertificates,
    ...bound('http'),
    ...bound('https'),
    {
      rule: 'A domain may have an endpoint configuration for each of http and https',
      given: {
        ...made,
        http: post('/endpoint_configurations', { type: 'http' }),
        https: post('/endpoint_configurations', { type: 'https' }),
      },
      ask: patch(one, {
        http_endpoint_configuration_id: '{http.id}',
        https_endpoint_configuration_id: '{https.id}',
      }),
      answer: ok({
        http_endpoint_configuration: refTo('/endpoint_configurations', 'http'),
        https_endpoint_configuration: refTo('/endpoint_configurations', 'https'),
      }),
    },
    {
      rule: 'A domain that covers a hostport of an edge cannot be deleted',
      given: { ...made, edge: post('/edges/tls', { hostports: ['{unique}.example.com:443'] }) },
      ask: del(one),
      answer: refused('RESOURCE_IN_USE', { tls_edge: '{edge.id}' }),
      later: [
        [del('/edges/tls/{edge.id}'), noContent],
        [del(one), noContent],
      ],
    },
  ],
};

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

const REGIONS = ['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa'];
const inRegion = (region: string) => post(path, { domain: `${region}-{unique}.example.com`, region });

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
    ...domainNames,
    {
      rule: 'A domain may be in one of seven regions; others, and regions in capitals, are refused',
      ask: inRegion('mars'),
      answer: invalid({ '/region': /au/ }),
      later: [
        [inRegion('EU'), invalid({ '/region': /au/ })],
        ...REGIONS.map((region) => [inRegion(region), created({ region })] as const),
      ],
    },
    ...domainCertificates,
    ...bound('http'),
    ...bound('https'),
  ],
};

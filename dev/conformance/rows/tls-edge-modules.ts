import { deletion, type ModuleFamily, moduleConventions } from '../module-conventions.ts';
import {
  del,
  get,
  invalid,
  NOBODY,
  noContent,
  ok,
  post,
  put,
  type Row,
  refTo,
  refused,
  type Section,
  type Step,
} from '../row.ts';

const owner = '/edges/tls/{edge.id}';
const edges = { edge: post('/edges/tls', {}) };
const base = { owner, nobody: `/edges/tls/edgtls_${NOBODY}` };

/** What a module with a list refers to. */
interface Listed {
  readonly name: string;
  readonly one: string;
  /** Names in requests and in answers. */
  readonly ids: string;
  readonly refs: string;
  readonly path: string;
  readonly prefix: string;
  readonly make: Step;
}

function listed({ name, one, ids, refs, path, prefix, make }: Listed): Row[] {
  const family: ModuleFamily = {
    ...base,
    one,
    name,
    given: { ...edges, first: make, second: make },
    least: { [ids]: ['{first.id}'] },
    shown: { enabled: true, [refs]: [refTo(path, 'first')] },
    other: { enabled: false, [ids]: ['{second.id}', '{first.id}'] },
    otherShown: { enabled: false, [refs]: [refTo(path, 'second'), refTo(path, 'first')] },
    required: [ids],
  };
  const { given } = family;
  const address = `${owner}/${name}`;
  const fifty = Array.from({ length: 50 }, (_, index) => `n${index}`);
  return [
    ...moduleConventions(family),
    deletion(family),
    {
      rule: `The list of ${one} must not be empty, since that could mean everyone or nobody`,
      given,
      ask: put(address, { [ids]: [] }),
      answer: invalid({ [`/${ids}`]: /at least 1/ }),
    },
    {
      rule: `The list of ${one} has at most 50 ids`,
      given: { ...edges, ...Object.fromEntries(fifty.map((each) => [each, make])) },
      ask: put(address, { [ids]: fifty.map((each) => `{${each}.id}`) }),
      answer: ok({ [refs]: fifty.map((each) => refTo(path, each)) }),
      later: [
        [
          put(address, { [ids]: [`${prefix}_${NOBODY}`, ...fifty.map((each) => `{${each}.id}`)] }),
          invalid({ [`/${ids}`]: /at most 50/ }),
        ],
      ],
    },
    {
      rule: `The ids in the list of ${one} must exist`,
      given,
      ask: put(address, { [ids]: ['{first.id}', `${prefix}_${NOBODY}`] }),
      answer: invalid({ [`/${ids}/1`]: /does not exist/ }),
      later: [[get(address), refused('NOT_FOUND')]],
    },
  ];
}

const ipRestriction = {
  name: 'ip_restriction',
  one: 'the IP restriction of a TLS edge',
  ids: 'ip_policy_ids',
  refs: 'ip_policies',
  path: '/ip_policies',
  prefix: 'ipp',
  make: post('/ip_policies', {}),
};

const mutualTls = {
  name: 'mutual_tls',
  one: 'the mutual TLS module of a TLS edge',
  ids: 'certificate_authority_ids',
  refs: 'certificate_authorities',
  path: '/certificate_authorities',
  prefix: 'ca',
  make: post('/certificate_authorities', { ca_pem: '{pem.ca}' }),
};

const tunnelGroups = '/backends/tunnel_group';
const responses = '/backends/http_response';

const backend: ModuleFamily = {
  ...base,
  one: 'the backend module of a TLS edge',
  name: 'backend',
  given: {
    ...edges,
    tunnels: post(tunnelGroups, { labels: { team: 'web' } }),
    response: post(responses, {}),
  },
  least: { backend_id: '{tunnels.id}' },
  shown: { enabled: true, backend: refTo(tunnelGroups, 'tunnels') },
  other: { enabled: false, backend_id: '{response.id}' },
  otherShown: { enabled: false, backend: refTo(responses, 'response') },
  required: ['backend_id'],
};

const restricted = {
  ...edges,
  policy: post('/ip_policies', {}),
  restriction: put(`${owner}/ip_restriction`, { ip_policy_ids: ['{policy.id}'] }),
};

const referring: Row[] = [
  {
    rule: 'An IP policy may be deleted while an edge is restricted by it; the edge keeps the reference, which then means no rules',
    given: restricted,
    ask: del('/ip_policies/{policy.id}'),
    answer: noContent,
    later: [[get(`${owner}/ip_restriction`), ok({ enabled: true, ip_policies: [refTo('/ip_policies', 'policy')] })]],
  },
  {
    rule: 'An edge may be written back with the deleted IP policy that it had; another edge cannot start to refer to it',
    given: { ...restricted, gone: del('/ip_policies/{policy.id}'), another: post('/edges/tls', {}) },
    ask: put(`${owner}/ip_restriction`, { enabled: false, ip_policy_ids: ['{policy.id}'] }),
    answer: ok({ enabled: false, ip_policies: [refTo('/ip_policies', 'policy')] }),
    later: [
      [
        put('/edges/tls/{another.id}/ip_restriction', { ip_policy_ids: ['{policy.id}'] }),
        invalid({ '/ip_policy_ids/0': /does not exist/ }),
      ],
    ],
  },
  {
    rule: 'A backend that serves a TLS edge cannot be deleted; the error names the edge',
    given: { ...backend.given, made: put(`${owner}/backend`, backend.least) },
    ask: del(`${tunnelGroups}/{tunnels.id}`),
    answer: refused('RESOURCE_IN_USE', { tls_edge: '{edge.id}' }),
    later: [
      [del(`${owner}/backend`), noContent],
      [del(`${tunnelGroups}/{tunnels.id}`), noContent],
    ],
  },
  {
    rule: 'The backend of a TLS edge must exist',
    given: edges,
    ask: put(`${owner}/backend`, { backend_id: `bkdtg_${NOBODY}` }),
    answer: invalid({ '/backend_id': /does not exist/ }),
    later: [[put(`${owner}/backend`, { backend_id: `bkdhr_${NOBODY}` }), invalid({ '/backend_id': /does not exist/ })]],
  },
];

export const tlsEdgeModules: Section = {
  title: 'TLS edge modules',
  rows: [
    ...listed(ipRestriction),
    ...listed(mutualTls),
    ...moduleConventions(backend),
    deletion(backend),
    ...referring,
  ],
};

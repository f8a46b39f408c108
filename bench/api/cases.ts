/** The requests to every family, as templates. A family or module without one is an error. */
import { generateKeyPairSync } from 'node:crypto';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { CATALOGUE } from '../../src/api/events/catalogue.ts';
import { lineOf, sshPublicOf } from '../../src/api/ssh/keys.ts';
import type { Resource } from '../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../src/resources/families.ts';

export interface Case {
  /** The row of the table. */
  title: string;
  method: 'GET' | 'POST' | 'PUT';
  /** Template of the path; its lists are the parameters. */
  path: string;
  query?: string;
  /** Template of the body. */
  body?: string;
}

/** Setup for the cases: requests that run before anything is measured. */
export interface Seed {
  method: 'POST' | 'PUT';
  /** The list that the created ids are added to. */
  list?: string;
  count: number;
  path: string;
  body: string;
}

const DESCRIBED = { description: 'benchmark', metadata: '{"bench":true}' };

/**
 * The number of resources of each family. Primes, so that lists pair up differently each time around; more than the
 * connections, so that concurrent requests rarely hit the same row.
 */
const COUNTS: Readonly<Record<string, number>> = {
  ip_policy: 10_007,
  event_subscription: 1999,
  https_edge: 211,
  https_edge_route: 211,
  tls_edge: 211,
  ruled_policy: 211,
};
const COUNT = 101;

/** The source that every subscription has; the others of the catalogue are added to it. */
const FIRST_SOURCE = 'ip_policy_created.v0';

/** Lists that are not ids of anything: event types to add, and names below reserved domains. */
export function plainLists(): Record<string, string[]> {
  const types = CATALOGUE.types.map(({ type }) => type);
  return {
    first_source: [FIRST_SOURCE],
    event_type: types.filter((type) => type !== FIRST_SOURCE),
    domain: Array.from({ length: COUNT }, (_, n) => `d${n}.example.com`),
  };
}

/** Bodies of creates, in an order in which everything referred to already exists. */
async function creates(): Promise<Record<string, unknown>> {
  const authority = await makeCertificate();
  const server = await makeCertificate({
    subject: 'CN=bench',
    issuer: authority,
    ca: false,
    names: [{ type: 'dns', value: 'app.example.com' }],
  });
  const { algorithm, blob } = sshPublicOf(generateKeyPairSync('ed25519').publicKey);
  return {
    ip_policy: DESCRIBED,
    ip_policy_rule: { ...DESCRIBED, ip_policy_id: '{ip_policy}', cidr: '2001:db8:{hex}::/48', action: 'allow' },
    credential: { ...DESCRIBED, acl: ['bind:*.example.com', 'bind:tunnel-{n}.example.org'] },
    http_response_backend: {
      ...DESCRIBED,
      body: 'down for maintenance',
      status_code: 503,
      headers: { 'content-type': 'text/plain' },
    },
    tunnel_group_backend: { ...DESCRIBED, labels: { app: 'web', team: 'platform' } },
    endpoint_configuration: { ...DESCRIBED, type: 'https', ip_policy_ids: ['{ip_policy}'] },
    certificate_authority: { ...DESCRIBED, ca_pem: authority.pem },
    tls_certificate: { ...DESCRIBED, certificate_pem: server.pem + authority.pem, private_key_pem: server.keyPem },
    reserved_domain: { ...DESCRIBED, domain: '*.d{n}.example.com', certificate_id: '{tls_certificate}' },
    https_edge: { ...DESCRIBED, hostports: ['e{n}.{domain}:443'] },
    https_edge_route: {
      ...DESCRIBED,
      match: '/bench/{n}',
      match_type: 'path_prefix',
      backend_id: '{http_response_backend}',
    },
    tls_edge: { ...DESCRIBED, hostports: ['t{n}.{domain}:443'] },
    event_destination: {
      ...DESCRIBED,
      format: 'json',
      target: { webhook: { url: 'https://hooks.example.com/tunnels' } },
    },
    event_subscription: { ...DESCRIBED, sources: [{ type: FIRST_SOURCE }], destination_ids: ['{event_destination}'] },
    ssh_certificate_authority: { ...DESCRIBED, private_key_type: 'ed25519' },
    ssh_host_certificate: {
      ...DESCRIBED,
      ssh_certificate_authority_id: '{ssh_certificate_authority}',
      public_key: lineOf(algorithm, blob),
      principals: ['web-{n}.example.com'],
    },
    bot_user: { name: 'bench {n}' },
    user: { name: 'bench {n}' },
    api_key: DESCRIBED,
  };
}

/** Bodies of PUTs by path; each differs from the previous one on the same resource. */
const REPLACED: Readonly<Record<string, unknown>> = {
  '/ip_policies/{ruled_policy}/rules': {
    rules: [
      { ...DESCRIBED, cidr: '2001:db8:{hex}::/48', action: 'allow' },
      { ...DESCRIBED, cidr: '2001:db9:{hex}::/48', action: 'deny' },
    ],
  },
  '/edges/tls/{tls_edge}/ip_restriction': { ip_policy_ids: ['{ip_policy}'] },
  '/edges/tls/{tls_edge}/mutual_tls': { certificate_authority_ids: ['{certificate_authority}'] },
  '/edges/tls/{tls_edge}/backend': { backend_id: '{tunnel_group_backend}' },
  '/edges/https/{https_edge}/routes/{https_edge_route}/oidc': {
    issuer: 'https://idp-{n}.example.com',
    client_id: 'bench',
    client_secret: 'secret of the benchmark',
  },
  '/edges/https/{https_edge}/routes/{https_edge_route}/oauth': {
    provider: { github: { client_id: 'bench', client_secret: 'secret of the benchmark', organizations: ['acme-{n}'] } },
  },
};

const countOf = (list: string) => COUNTS[list] ?? COUNT;

/** The path of a family's list, with the list of the families it lives in for parameters. */
const pathOf = ({ path, parent }: Resource) =>
  parent ? path.replace(`{${parent.parameter}}`, `{${parent.of.name}}`) : path;

export interface Plan {
  seeds: Seed[];
  cases: Case[];
}

/** Every family: GET one and POST; everything that is replaced as a whole: PUT and GET. */
export async function plan(): Promise<Plan> {
  const bodies = new Map(Object.entries(await creates()).map(([name, body]) => [name, JSON.stringify(body)]));
  const byName = new Map(FAMILIES.map((family) => [family.name, family]));
  const families = [...bodies].map(([name, body]) => {
    const family = byName.get(name);
    if (!family) throw new Error(`family ${name} does not exist`);
    return { name, body, path: pathOf(family) };
  });
  const create = ({ name, path, body }: (typeof families)[number], list = name): Seed => {
    return { method: 'POST', list, count: countOf(list), path, body };
  };
  const replaced = Object.entries(REPLACED).map(([path, body]) => ({ path, body: JSON.stringify(body) }));
  const source = '/event_subscriptions/{event_subscription}/sources';
  const [policies] = families;
  if (!policies) throw new Error('the list of families is empty');
  return {
    seeds: [
      ...families.map((each) => create(each)),
      create(policies, 'ruled_policy'),
      ...replaced.map(({ path, body }) => ({ method: 'PUT' as const, count: MODULES_SET, path, body })),
    ],
    cases: [
      { title: 'GET /ip_policies?limit=100', method: 'GET', path: '/ip_policies', query: '?limit=100' },
      ...families.flatMap(({ name, path, body }) => [getOne(`${path}/{${name}}`), change('POST', path, body)]),
      getOne(`${source}/{first_source}`),
      change('POST', source, JSON.stringify({ type: '{event_type}' })),
      ...replaced.flatMap(({ path, body }) => [getOne(path), change('PUT', path, body)]),
    ],
  };
}

/** As many as the owners of modules: each gets one first, so that a PUT replaces it. */
const MODULES_SET = 211;

/** The row shows `{id}` for any parameter. */
const titleOf = (method: string, path: string) => `${method} ${path.replaceAll(/\{\w+\}/g, '{id}')}`;

const getOne = (path: string): Case => ({ title: titleOf('GET', path), method: 'GET', path });

function change(method: 'POST' | 'PUT', path: string, body: string): Case {
  return { title: titleOf(method, path), method, path, body };
}

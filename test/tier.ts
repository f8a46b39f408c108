/** The tiers of the tests. `npm test` runs neither, `npm run test:all` one of them, `npm run test:deep` only deep tests. */
export const isDeep = process.env.TEST_DEEP === '1';
const isAll = process.env.TEST_ALL === '1';

/** Between them, these kinds have every shape: plain, nested, attached, with a Secret, with sources and replacement. */
const KINDS = ['HTTPResponseBackend', 'HTTPSEdgeRoute', 'HTTPSEdgeRouteModules', 'TunnelCredential', 'TLSCertificate'];
/** Their families, and one with parents. */
const FAMILIES = ['http_response_backend', 'https_edge_route', 'credential', 'tls_certificate', 'ip_policy_rule'];

/** For tests of every kind or family: some of them in `npm test`, and each in the other tiers. */
export function someOf<T extends { readonly name: string }>(rows: readonly T[]): readonly T[] {
  return isDeep || isAll ? rows : rows.filter(({ name }) => KINDS.includes(name) || FAMILIES.includes(name));
}

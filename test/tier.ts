/** The tiers of tests beyond `npm test`: `npm run test:all` adds one, `npm run test:deep` runs only the deep one. */
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

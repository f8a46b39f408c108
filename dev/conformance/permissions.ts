/** Who may use which operation: the table that permissions.test.ts plays and docs/permissions.md publishes. */

export const CALLERS = ['admin', 'user', 'active bot', 'inactive bot', 'expired key', 'no key'] as const;
export type CallerKind = (typeof CALLERS)[number];

/** `own`: with what is theirs; what is another's is 404 and in no list. A status: refused with it. */
export type Verdict = 'yes' | 'own' | 401 | 403;

export type Permission = Readonly<Record<CallerKind, Verdict>>;

const UNKNOWN = { 'inactive bot': 401, 'expired key': 401, 'no key': 401 } as const;
const anyone: Permission = { admin: 'yes', user: 'yes', 'active bot': 'yes', ...UNKNOWN };
const owners: Permission = { admin: 'yes', user: 'own', 'active bot': 'own', ...UNKNOWN };
const admins: Permission = { admin: 'yes', user: 403, 'active bot': 403, ...UNKNOWN };

export const PERMISSIONS: Readonly<Record<string, Permission>> = {
  'POST /ip_policies': anyone,
  'GET /ip_policies': anyone,
  'GET /ip_policies/{id}': anyone,
  'PATCH /ip_policies/{id}': anyone,
  'DELETE /ip_policies/{id}': anyone,
  'GET /ip_policies/{id}/rules': anyone,
  'PUT /ip_policies/{id}/rules': anyone,
  'POST /ip_policy_rules': anyone,
  'GET /ip_policy_rules': anyone,
  'GET /ip_policy_rules/{id}': anyone,
  'PATCH /ip_policy_rules/{id}': anyone,
  'DELETE /ip_policy_rules/{id}': anyone,
  'POST /credentials': owners,
  'GET /credentials': owners,
  'GET /credentials/{id}': owners,
  'PATCH /credentials/{id}': owners,
  'DELETE /credentials/{id}': owners,
  'POST /credentials/authenticate': admins,
  'POST /backends/http_response': anyone,
  'GET /backends/http_response': anyone,
  'GET /backends/http_response/{id}': anyone,
  'PATCH /backends/http_response/{id}': anyone,
  'DELETE /backends/http_response/{id}': anyone,
  'POST /backends/tunnel_group': anyone,
  'GET /backends/tunnel_group': anyone,
  'GET /backends/tunnel_group/{id}': anyone,
  'PATCH /backends/tunnel_group/{id}': anyone,
  'DELETE /backends/tunnel_group/{id}': anyone,
  'POST /endpoint_configurations': anyone,
  'GET /endpoint_configurations': anyone,
  'GET /endpoint_configurations/{id}': anyone,
  'PATCH /endpoint_configurations/{id}': anyone,
  'DELETE /endpoint_configurations/{id}': anyone,
  'POST /reserved_domains': anyone,
  'GET /reserved_domains': anyone,
  'GET /reserved_domains/{id}': anyone,
  'PATCH /reserved_domains/{id}': anyone,
  'DELETE /reserved_domains/{id}': anyone,
  'DELETE /reserved_domains/{id}/certificate': anyone,
  'DELETE /reserved_domains/{id}/certificate_management_policy': anyone,
  'POST /edges/https': anyone,
  'GET /edges/https': anyone,
  'GET /edges/https/{id}': anyone,
  'PATCH /edges/https/{id}': anyone,
  'DELETE /edges/https/{id}': anyone,
  'POST /edges/https/{edge_id}/routes': anyone,
  'GET /edges/https/{edge_id}/routes': anyone,
  'GET /edges/https/{edge_id}/routes/{id}': anyone,
  'PATCH /edges/https/{edge_id}/routes/{id}': anyone,
  'DELETE /edges/https/{edge_id}/routes/{id}': anyone,
  'PUT /edges/https/{edge_id}/routes/{id}/oidc': anyone,
  'GET /edges/https/{edge_id}/routes/{id}/oidc': anyone,
  'DELETE /edges/https/{edge_id}/routes/{id}/oidc': anyone,
  'PUT /edges/https/{edge_id}/routes/{id}/oauth': anyone,
  'GET /edges/https/{edge_id}/routes/{id}/oauth': anyone,
  'DELETE /edges/https/{edge_id}/routes/{id}/oauth': anyone,
  'POST /edges/tls': anyone,
  'GET /edges/tls': anyone,
  'GET /edges/tls/{id}': anyone,
  'PATCH /edges/tls/{id}': anyone,
  'DELETE /edges/tls/{id}': anyone,
  'PUT /edges/tls/{id}/ip_restriction': anyone,
  'GET /edges/tls/{id}/ip_restriction': anyone,
  'DELETE /edges/tls/{id}/ip_restriction': anyone,
  'PUT /edges/tls/{id}/mutual_tls': anyone,
  'GET /edges/tls/{id}/mutual_tls': anyone,
  'DELETE /edges/tls/{id}/mutual_tls': anyone,
  'PUT /edges/tls/{id}/backend': anyone,
  'GET /edges/tls/{id}/backend': anyone,
  'DELETE /edges/tls/{id}/backend': anyone,
  'POST /event_subscriptions': admins,
  'GET /event_subscriptions': admins,
  'GET /event_subscriptions/{id}': admins,
  'PATCH /event_subscriptions/{id}': admins,
  'DELETE /event_subscriptions/{id}': admins,
  'POST /event_subscriptions/{subscription_id}/sources': admins,
  'GET /event_subscriptions/{subscription_id}/sources': admins,
  'GET /event_subscriptions/{subscription_id}/sources/{type}': admins,
  'PATCH /event_subscriptions/{subscription_id}/sources/{type}': admins,
  'DELETE /event_subscriptions/{subscription_id}/sources/{type}': admins,
  'POST /event_destinations': admins,
  'GET /event_destinations': admins,
  'GET /event_destinations/{id}': admins,
  'PATCH /event_destinations/{id}': admins,
  'DELETE /event_destinations/{id}': admins,
  'GET /event_types': anyone,
  'POST /certificate_authorities': anyone,
  'GET /certificate_authorities': anyone,
  'GET /certificate_authorities/{id}': anyone,
  'PATCH /certificate_authorities/{id}': anyone,
  'DELETE /certificate_authorities/{id}': anyone,
  'POST /tls_certificates': anyone,
  'GET /tls_certificates': anyone,
  'GET /tls_certificates/{id}': anyone,
  'PATCH /tls_certificates/{id}': anyone,
  'DELETE /tls_certificates/{id}': anyone,
  'POST /ssh_certificate_authorities': anyone,
  'GET /ssh_certificate_authorities': anyone,
  'GET /ssh_certificate_authorities/{id}': anyone,
  'PATCH /ssh_certificate_authorities/{id}': anyone,
  'DELETE /ssh_certificate_authorities/{id}': anyone,
  'POST /ssh_host_certificates': anyone,
  'GET /ssh_host_certificates': anyone,
  'GET /ssh_host_certificates/{id}': anyone,
  'PATCH /ssh_host_certificates/{id}': anyone,
  'DELETE /ssh_host_certificates/{id}': anyone,
  'POST /bot_users': admins,
  'GET /bot_users': admins,
  'GET /bot_users/{id}': admins,
  'PATCH /bot_users/{id}': admins,
  'DELETE /bot_users/{id}': admins,
  'POST /users': admins,
  'GET /users': admins,
  'GET /users/{id}': admins,
  'PATCH /users/{id}': admins,
  'DELETE /users/{id}': admins,
  'PUT /idempotency_keys/{digest}/closed': anyone,
  'POST /api_keys': owners,
  'GET /api_keys': owners,
  'GET /api_keys/{id}': owners,
  'PATCH /api_keys/{id}': owners,
  'DELETE /api_keys/{id}': owners,
};

const HEAD = `# Permissions

Who may use which operation. Every cell is tried by \`npm test\`; a new operation without a row fails it.

\`own\`: with what belongs to the caller; what belongs to others is 404 and in no list, and making something for
another owner is 403. What is refused changes nothing.
`;

export function permissionsPage(): string {
  const lines = Object.entries(PERMISSIONS).map(([name, verdicts]) => [
    `\`${name}\``,
    ...CALLERS.map((kind) => String(verdicts[kind])),
  ]);
  const columns = ['Operation', ...CALLERS];
  const rows = [columns, columns.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`);
  return `${HEAD}\n${rows.join('')}`;
}

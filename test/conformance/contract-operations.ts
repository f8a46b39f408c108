/** The 61 operations of the contract, by their heading in it. */
const FAMILY = ['POST {}', 'GET {}', 'GET {}/{id}', 'PATCH {}/{id}', 'DELETE {}/{id}'];
const MODULE = ['PUT', 'GET', 'DELETE'];

const family = (path: string) => FAMILY.map((operation) => operation.replace('{}', path));
const module = (path: string, methods = MODULE) => methods.map((method) => `${method} ${path}`);

export const CONTRACT_OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  'IP policies': family('/ip_policies'),
  'Tunnel credentials': family('/credentials'),
  'HTTP response backends': family('/backends/http_response'),
  'Reserved domains': [
    ...family('/reserved_domains'),
    'DELETE /reserved_domains/{id}/certificate_management_policy',
    'DELETE /reserved_domains/{id}/certificate',
  ],
  'Certificate authorities': family('/certificate_authorities'),
  'SSH host certificates': family('/ssh_host_certificates'),
  'Bot users': family('/bot_users'),
  'HTTPS edge route modules': [
    ...module('/edges/https/{edge_id}/routes/{id}/oidc'),
    ...module('/edges/https/{edge_id}/routes/{id}/oauth', ['PUT', 'GET']),
  ],
  'TLS edge modules': ['ip_restriction', 'mutual_tls', 'backend'].flatMap((name) => module(`/edges/tls/{id}/${name}`)),
  'Event subscriptions': family('/event_subscriptions'),
  'Event sources': [
    'POST /event_subscriptions/{subscription_id}/sources',
    'GET /event_subscriptions/{subscription_id}/sources',
    ...['GET', 'PATCH', 'DELETE'].map((method) => `${method} /event_subscriptions/{subscription_id}/sources/{type}`),
  ],
};

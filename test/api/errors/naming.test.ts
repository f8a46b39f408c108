import { expect, test } from 'vitest';
import { camel, withArticle, words } from '../../../src/api/errors/naming.ts';

test.each([
  ['ip_policy_rule', 'an IP policy rule'],
  ['api_key', 'an API key'],
  ['ssh_host_certificate', 'an SSH host certificate'],
  ['https_edge_route', 'an HTTPS edge route'],
  ['oauth_provider', 'an OAuth provider'],
  ['event_subscription', 'an event subscription'],
  ['tls_edge', 'a TLS edge'],
  ['dns_record', 'a DNS record'],
  ['cidr', 'a CIDR block'],
  ['user', 'a user'],
  ['credential', 'a credential'],
])('in a sentence, %s is %s', (name, said) => {
  expect(withArticle(name)).toBe(said);
  expect(words(name)).toBe(said.replace(/^an? /, ''));
});

test('an operation is named in camel case', () => {
  expect(camel('list_ip_policies')).toBe('listIpPolicies');
});

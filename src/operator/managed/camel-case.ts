/** The name in a spec of a field of the API: `ip_policy_id` becomes `ipPolicyId`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** `ip_policy_id`, a field of the API, as a spec has it: `ipPolicyId`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

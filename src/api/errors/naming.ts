/** Names of families in sentences: `ip_policy_rule` becomes "IP policy rule". */

const UPPER = new Set(['ip', 'dns', 'api', 'tls', 'ssh', 'http', 'https', 'oidc']);
const SPELT: Readonly<Record<string, string>> = { oauth: 'OAuth', cidr: 'CIDR block' };

export function words(name: string): string {
  return name
    .split('_')
    .map((word) => SPELT[word] ?? (UPPER.has(word) ? word.toUpperCase() : word))
    .join(' ');
}

/** With its indefinite article. */
export function withArticle(name: string): string {
  const phrase = words(name);
  return /^(?:[aeio]|OAuth|OIDC|API|IP|SSH|HTTP)/.test(phrase) ? `an ${phrase}` : `a ${phrase}`;
}

/** `list_ip_policies` becomes `listIpPolicies`. */
export function camel(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The installation: its own domains, who issues certificates for its users' domains, and where events may go. */
import { z } from 'zod';
import { canonicalDomain } from '../../resources/formats/domain-name.ts';

export interface Platform {
  /** Domains of the service; the first one has the CNAME targets. At least one. */
  readonly serviceDomains: readonly [string, ...string[]];
  /** The only value of a certificate policy's `authority`. */
  readonly acmeAuthority: string;
  /** Whether certificates are issued, by this process or another one. */
  readonly issuesCertificates: boolean;
  /** Addresses and networks that events may be sent to although they are not public. */
  readonly eventAllowNetworks: readonly string[];
  /** Hosts that events may be sent to by plain http. */
  readonly eventHttpHosts: readonly string[];
}

/** `.internal` is kept out of the public DNS for private use. */
export const DEFAULT_PLATFORM: Platform = {
  serviceDomains: ['tunnels.internal'],
  acmeAuthority: 'letsencrypt',
  issuesCertificates: true,
  eventAllowNetworks: [],
  eventHttpHosts: [],
};

/** The domains in a comma-separated list, or why it is invalid. */
function parseServiceDomains(list: string): { domains: Platform['serviceDomains'] } | { reason: string } {
  const domains: string[] = [];
  for (const part of list.split(',').map((each) => each.trim())) {
    const result = canonicalDomain(part);
    if ('reason' in result) return { reason: `"${part}": ${result.reason}` };
    if (result.domain.startsWith('*.'))
      return { reason: `"${part}": name the domain itself; that includes all names below it` };
    domains.push(result.domain);
  }
  const [first, ...others] = domains;
  return first === undefined ? { reason: 'has no domain' } : { domains: [first, ...others] };
}

export const serviceDomains = z.string().transform((list, context) => {
  const parsed = parseServiceDomains(list);
  if ('domains' in parsed) return parsed.domains;
  context.addIssue({ code: 'custom', message: parsed.reason });
  return z.NEVER;
});

export const acmeAuthority = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,62}$/, 'must be a name in lower case, such as letsencrypt');

/**
 * Looks at the DNS records of a domain before an order is placed, as far as its owner has to make them: authorities allow
 * few failures. This is our own check, by the configured resolvers; the authority asks others.
 */
import { Resolver } from 'node:dns/promises';
import { JobFailed } from './reasons.ts';

export interface WantedRecord {
  /** Where a CNAME record is needed. */
  name: string;
  target: string;
  /** Whether another record will do that leads to the same addresses, as at the apex of a zone. */
  orAddresses: boolean;
}

/** @throws JobFailed */
export type SelfCheck = (wanted: WantedRecord) => Promise<void>;

const MOST_HOPS = 8;

/** @param servers addresses of resolvers, with or without a port; default: those of this machine */
export function createSelfCheck(servers?: readonly string[]): SelfCheck {
  const resolver = new Resolver({ timeout: 3_000, tries: 2 });
  if (servers) resolver.setServers(servers);

  /** Nothing for a name without records of the type. */
  async function look(name: string, type: 'CNAME' | 'A' | 'AAAA'): Promise<string[]> {
    try {
      return (await resolver.resolve(name, type)).map((each) => String(each).toLowerCase());
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENODATA' || code === 'ENOTFOUND') return [];
      const isTheirs = code === 'ESERVFAIL' || code === 'EREFUSED' || code === 'EFORMERR';
      const why = `the self-check could not look up ${type} of ${name}: ${code ?? String(error)}`;
      throw new JobFailed(isTheirs ? 'DNS_ERROR' : 'INTERNAL_ERROR', why);
    }
  }
  const addresses = async (name: string) => (await Promise.all([look(name, 'A'), look(name, 'AAAA')])).flat();

  return async ({ name, target, orAddresses }) => {
    const passed: string[] = [];
    for (let at = name; passed.length < MOST_HOPS; ) {
      const [next] = await look(at, 'CNAME');
      if (next === target) return;
      if (next === undefined) break;
      passed.push(next);
      at = next;
    }
    if (orAddresses) {
      const [own, wanted] = await Promise.all([addresses(name), addresses(target)]);
      if (own.some((address) => wanted.includes(address))) return;
    }
    const found = passed.length === 0 ? `${name} has no CNAME record` : `${name} leads to ${passed.join(' and ')}`;
    throw new JobFailed('DNS_ERROR', `self-check: ${found}; it needs a CNAME record to ${target}`);
  };
}

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** The CNAME targets of a reserved domain. */
import { canonicalDomain, isBelow } from '../../resources/formats/domain-name.ts';
import type { Platform } from '../http/platform.ts';

type ServiceDomains = Platform['serviceDomains'];

/** Labels below the first domain of the service, where users' domains point. */
const CNAME = 'cname';
const ACME = 'acme';

/** Why this domain cannot be reserved, if so. */
export function reservedByService(domain: string, services: ServiceDomains): string | undefined {
  const name = domain.replace(/^\*\./, '');
  if (domain.startsWith('*.') && services.some((service) => isBelow(service, name)))
    return 'contains a domain of the service';
  if (services.includes(name)) return `belongs to the service; reserve a name below it, such as app.${name}`;
  const internal = [CNAME, ACME].map((label) => `${label}.${services[0]}`);
  return internal.some((own) => name === own || isBelow(name, own)) ? 'belongs to the service' : undefined;
}

/** Whether this name, in canonical form, can be reserved. */
export const isReservable = (domain: string, services: ServiceDomains) =>
  'domain' in canonicalDomain(domain) && reservedByService(domain, services) === undefined;

/**
 * Targets are derived from the id, so that each domain has its own, which reveals nothing about others. Below a service
 * domain the service itself serves DNS. A single custom name is validated over HTTP, so only a wildcard needs a DNS
 * challenge.
 */
export function cnameTargets(id: string, domain: string, services: ServiceDomains) {
  const wildcard = domain.startsWith('*.');
  if (services.some((service) => isBelow(wildcard ? domain.slice(2) : domain, service))) {
    return { cname_target: null, acme_challenge_cname_target: null };
  }
  return {
    cname_target: `${labelOf(id)}.${CNAME}.${services[0]}`,
    acme_challenge_cname_target: wildcard ? challengeName(id, services) : null,
  };
}

/** The zone below which challenges over DNS are answered. */
export const challengeZoneName = (services: ServiceDomains) => `${ACME}.${services[0]}`;

/** Where challenges over DNS for a domain are answered. */
export const challengeName = (id: string, services: ServiceDomains) => `${labelOf(id)}.${challengeZoneName(services)}`;

const labelOf = (id: string) => id.slice(id.lastIndexOf('_') + 1);

/** Automatic certificates: what this process has obtained, and how all of them are, by the database. */
import { Counter, type Registry } from 'prom-client';
import { knownGauge } from './known-gauge.ts';

const results = new Counter({
  name: 'tunnel_api_certificate_jobs_total',
  help: 'Attempts to obtain certificates by this process, by result: "issued" or "failed", to be tried again.',
  labelNames: ['result'] as const,
  registers: [],
});

/** Of reserved domains with a policy. */
export interface CertificateState {
  /** Whose last attempt failed for lack of DNS records, or because the authority refuses the domain. */
  dnsErrors: number;
  /** Whose last attempt failed because of the authority or of the service. */
  internalErrors: number;
  /** The least part of its lifetime that a certificate in use has left; 1 if there are none. */
  leastLifetimeLeft: number;
}

const state = knownGauge<CertificateState>([
  {
    name: 'tunnel_api_certificates_dns_errors',
    help: 'Reserved domains that get no certificate until their owners mend their DNS records; the same in every process.',
    read: ({ dnsErrors }) => dnsErrors,
  },
  {
    name: 'tunnel_api_certificates_internal_errors',
    help: 'Reserved domains that get no certificate because of the authority or of the service; the same in every process.',
    read: ({ internalErrors }) => internalErrors,
  },
  {
    name: 'tunnel_api_certificate_least_lifetime_left_ratio',
    help: 'The least part of its lifetime that an automatic certificate in use has left, from 0 to 1; the same in every process.',
    read: ({ leastLifetimeLeft }) => leastLifetimeLeft,
  },
]);

export function registerCertificateMetrics(registry: Registry): void {
  for (const metric of [results, ...state.gauges]) registry.registerMetric(metric);
}

export const countCertificate = (result: 'issued' | 'failed') => results.inc({ result });

/** @param known undefined: it cannot be told */
export const showCertificateState = (known: CertificateState | undefined) => state.show(known);

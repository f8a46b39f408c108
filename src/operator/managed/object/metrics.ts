/** The metrics of reconciles, besides those of any controller. */
import { Counter, type Registry } from 'prom-client';

export type ManagedMetrics = ReturnType<typeof createManagedMetrics>;

export function createManagedMetrics(registry: Registry) {
  const registers = [registry];
  return {
    driftCorrected: new Counter({
      name: 'tunnel_operator_drift_corrected_total',
      help: 'Remote changes that were reverted.',
      labelNames: ['kind'],
      registers,
    }),
    credentialsIssued: new Counter({
      name: 'tunnel_operator_credentials_issued_total',
      help: 'Tokens, signing secrets and certificates issued; the cause is created, requested, interval, expiring, lost, changed, gone (deleted in the API), or resumed (begun by an earlier reconcile).',
      labelNames: ['kind', 'cause'],
      registers,
    }),
  };
}

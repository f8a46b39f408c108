/** `TunnelGroupBackend`: all tunnels that have certain labels, as what stands behind an edge. */
import { tunnelGroupBackend } from '../../resources/tunnel-group-backend.ts';
import { plainKind } from './plain-kind.ts';

export const tunnelGroupBackendKind = plainKind(tunnelGroupBackend, {
  kind: 'TunnelGroupBackend',
  shortNames: ['tgb'],
  calls: (client) => client.tunnelGroupBackends,
});

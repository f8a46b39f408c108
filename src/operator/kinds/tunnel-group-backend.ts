/** `TunnelGroupBackend`: a backend that consists of all tunnels with certain labels. */
import { tunnelGroupBackend } from '../../resources/tunnel-group-backend.ts';
import { plainKind } from './plain-kind.ts';

export const tunnelGroupBackendKind = plainKind(tunnelGroupBackend, {
  kind: 'TunnelGroupBackend',
  shortNames: ['tgb'],
  calls: (client) => client.tunnelGroupBackends,
  columns: ['labels'],
});

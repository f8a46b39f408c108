/** Which addresses events may be sent to. */
import { type AddressGuard, type Allowances, createAddressGuard } from '../../../outbound/address-guard.ts';

export const eventGuard = (allowances: Omit<Allowances, 'settings'>): AddressGuard =>
  createAddressGuard({
    ...allowances,
    settings: { networks: 'EVENT_ALLOW_NETWORKS', httpHosts: 'EVENT_HTTP_HOSTS' },
  });

/** Delivers one event to one destination, once. When, and whether again, is decided elsewhere. */
import { createAddressGuard } from './address-guard.ts';
import type { SentEvent } from './cloud-event.ts';
import type { ResolveHost } from './host-lookup.ts';
import { type Answer, createSender } from './sender.ts';
import { type Destination, targetRequest } from './targets.ts';

export interface Courier {
  /** Never rejects for what a receiver or the network does. */
  deliver(destination: Destination, event: SentEvent, signal: AbortSignal): Promise<Answer>;
  /** Ends the deliveries under way. */
  close(): Promise<void>;
}

export interface CourierOptions {
  /** The installation, as a URI: where events come from. */
  source: string;
  /** Addresses and networks that may be called although they are not public. */
  allowNetworks: readonly string[];
  /** Hosts that may be called by plain http, as `URL` writes them. */
  httpHosts: readonly string[];
  /** Longest wait for the whole answer. Default 10,000. */
  timeoutMs?: number;
  now?: () => Date;
  resolve?: ResolveHost;
}

export function createCourier(options: CourierOptions): Courier {
  const { source, allowNetworks, httpHosts, timeoutMs = 10_000, now = () => new Date(), resolve } = options;
  const guard = createAddressGuard({ networks: allowNetworks, httpHosts });
  const sender = createSender({ guard, timeoutMs, now, ...(resolve && { resolve }) });
  return {
    async deliver(destination, event, signal) {
      const request = targetRequest(destination, event, source, now());
      const refusal = guard.refusalOfUrl(request.url);
      if (refusal !== undefined) return { delivered: false, error: `the URL ${refusal}` };
      return sender.send(request, signal);
    },
    close: () => sender.close(),
  };
}

/** Of a process that sends no events. */
export const NO_COURIER: Pick<Courier, 'deliver'> = {
  deliver: async () => ({ delivered: false, error: 'this process sends no events' }),
};

/** Delivers one event to one destination, once. When, and whether again, is decided elsewhere. */

import type { ResolveHost } from '../../../outbound/host-lookup.ts';
import type { SentEvent } from './cloud-event.ts';
import { eventGuard } from './event-guard.ts';
import { type Answer, createSender } from './sender.ts';
import { type Destination, openTarget, type Target } from './targets.ts';

export interface Courier {
  /** Never rejects for what a receiver or the network does. @param destination must not be changed afterwards */
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
  const guard = eventGuard({ networks: allowNetworks, httpHosts });
  const sender = createSender({ guard, timeoutMs, now, ...(resolve && { resolve }) });
  /** The target of a destination, prepared once, and why it cannot be called, if it cannot. */
  const opened = new WeakMap<Destination, { target: Target; refusal: string | undefined }>();
  function open(destination: Destination) {
    const target = openTarget(destination, source);
    const entry = { target, refusal: guard.refusalOfUrl(target.url) };
    opened.set(destination, entry);
    return entry;
  }
  return {
    async deliver(destination, event, signal) {
      const { target, refusal } = opened.get(destination) ?? open(destination);
      if (refusal !== undefined) return { delivered: false, error: `the URL ${refusal}` };
      return sender.send(target.request(event, now()), signal);
    },
    close: () => sender.close(),
  };
}

/** The courier of a process that sends no events. */
export const NO_COURIER: Pick<Courier, 'deliver'> = {
  deliver: async () => ({ delivered: false, error: 'this process sends no events' }),
};

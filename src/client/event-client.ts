/** Calls for the audit log. */
import { type EventFilters, event, eventLog, eventWithData } from '../resources/event.ts';
import type { CallOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { listClient } from './list-client.ts';
import { segment } from './path-segment.ts';
import type { Transport } from './transport.ts';

/** A page may have few events, or none, although there are more. */
export function eventClient(transport: Transport) {
  return {
    ...listClient<ReturnType<typeof event.parse>, EventFilters>(transport, eventLog, (answer) => read(event, answer)),
    /** With the resource as it was then. */
    async get(id: string, options: CallOptions = {}) {
      const path = `${eventLog.path}/${segment(id)}`;
      return read(eventWithData, await transport.send({ method: 'GET', path, ...options }));
    },
  };
}

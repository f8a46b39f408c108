/** Calls for deliveries of events. */
import type { z } from 'zod';
import { type DeliveryFilters, eventDelivery, type replay, replayed } from '../resources/event-delivery.ts';
import { eventDestination } from '../resources/event-destination.ts';
import type { CallOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { listClient } from './list-client.ts';
import { segment } from './path-segment.ts';
import type { Transport } from './transport.ts';

type Delivery = z.output<typeof eventDelivery.view>;

/** A page may have few deliveries, or none, although there are more. */
export function eventDeliveryClient(transport: Transport) {
  const pathOf = (id: string) => `${eventDelivery.path}/${segment(id)}`;
  return {
    ...listClient<Delivery, DeliveryFilters>(transport, eventDelivery, (answer) => read(eventDelivery.view, answer)),
    async get(id: string, options: CallOptions = {}) {
      return read(eventDelivery.view, await transport.send({ method: 'GET', path: pathOf(id), ...options }));
    },
    /** Sends a delivered, failed or dropped one again. */
    async redeliver(id: string, options: CallOptions = {}) {
      const path = `${pathOf(id)}/redeliver`;
      return read(eventDelivery.view, await transport.send({ method: 'POST', path, body: {}, ...options }));
    },
    /** Sends deliveries of a destination again, as many as fit into one request; see `next`. */
    async replay(destinationId: string, body: z.input<typeof replay>, options: CallOptions = {}) {
      const path = `${eventDestination.path}/${segment(destinationId)}/replay`;
      return read(replayed, await transport.send({ method: 'POST', path, body, ...options }));
    },
  };
}

/** Calls for the sources of one event subscription. */
import { eventSource, eventSources, eventSubscription } from '../resources/event-subscription.ts';
import type { CallOptions, ChangeOptions, CreateOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { segment } from './path-segment.ts';
import type { Transport } from './transport.ts';

export function eventSourceClient(transport: Transport, subscriptionId: string) {
  const path = `${eventSubscription.path}/${segment(subscriptionId)}/sources`;
  const at = (type: string) => `${path}/${segment(type)}`;
  return {
    async create(type: string, options: CreateOptions = {}) {
      return read(eventSource, await transport.send({ method: 'POST', path, body: { type }, ...options }));
    },
    async get(type: string, options: CallOptions = {}) {
      return read(eventSource, await transport.send({ method: 'GET', path: at(type), ...options }));
    },
    async list(options: CallOptions = {}) {
      return read(eventSources, await transport.send({ method: 'GET', path, ...options })).sources;
    },
    /** Changes nothing; confirms that the source exists at this ETag. */
    async update(type: string, options: ChangeOptions = {}) {
      return read(eventSource, await transport.send({ method: 'PATCH', path: at(type), body: {}, ...options }));
    },
    async delete(type: string, options: ChangeOptions = {}) {
      await transport.send({ method: 'DELETE', path: at(type), ...options });
    },
  };
}

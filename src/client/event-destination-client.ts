/** Calls for event destinations: those of every family, and their own. */
import type { z } from 'zod';
import { eventDestination } from '../resources/event-destination.ts';
import { destinationTest, type signingSecretRotation } from '../resources/event-destination-calls.ts';
import type { CallOptions, ChangeOptions, CreateOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { familyClient } from './family-client.ts';
import { segment } from './path-segment.ts';
import type { Transport } from './transport.ts';

export function eventDestinationClient(transport: Transport) {
  const post = (id: string, operation: string, options: { body?: object } & CallOptions) =>
    transport.send({ method: 'POST', path: `${eventDestination.path}/${segment(id)}/${operation}`, ...options });
  return {
    ...familyClient(transport, eventDestination),
    /** Its events wait until it is resumed. */
    async pause(id: string, options: ChangeOptions = {}) {
      return read(eventDestination.view, await post(id, 'pause', options));
    },
    async resume(id: string, options: ChangeOptions = {}) {
      return read(eventDestination.view, await post(id, 'resume', options));
    },
    /** Returns the destination with its new signing secret. With an idempotency key, it is safe to repeat. */
    async rotateSecret(
      id: string,
      body: z.input<typeof signingSecretRotation> = {},
      options: CreateOptions & ChangeOptions = {},
    ) {
      return read(eventDestination.view, await post(id, 'rotate_secret', { body, ...options }));
    },
    /** Sends a test event, and returns what came back. */
    async test(id: string, options: CallOptions = {}) {
      return read(destinationTest, await post(id, 'test', options));
    },
  };
}

/** Sends a test event to a destination, and tells what came back. */
import { newId } from '../../resources/definition/id.ts';
import type { eventDestination } from '../../resources/event-destination.ts';
import { destinationTest } from '../../resources/event-destination-calls.ts';
import { belongingTo, type Family, singleParameters } from '../crud/family.ts';
import type { Destination } from '../events/wire/targets.ts';
import { type Api, operation } from '../http/operation.ts';
import type { Row } from '../store/repository.ts';
import { nothing } from './event-pausing.ts';

type Destinations = Family<typeof eventDestination>;

/** Not in the catalogue: nobody can subscribe to it. */
const TYPE = 'event_destination_test.v0';
/** A test event has no place among the events of a resource. */
const SEQUENCE = '0'.padStart(19, '0');

/** @param open the destination of a row, with its secrets */
export function addTest(destinations: Destinations, open: (api: Api, row: Row) => Promise<Destination>): void {
  const { resource } = destinations;
  destinations.add(
    operation({
      method: 'POST',
      path: `${resource.path}/{id}/test`,
      operationId: 'testEventDestination',
      summary: 'Send a test event to an event destination',
      description:
        `Sends an event of the type \`${TYPE}\` at once and waits for the answer, for at most ten seconds. It is sent as ` +
        'any other event, but once, also to a paused destination; it counts neither as a delivery nor as a failure.',
      ...belongingTo(resource),
      params: singleParameters(resource),
      body: nothing,
      success: { status: 200, description: 'What came back.', schema: destinationTest },
      async handle(call, api) {
        const { id } = call.params;
        const row = destinations.require(await destinations.rows.get(api.db, id), id, call);
        const destination = await open(api, row);
        const event = {
          id: newId('ev'),
          type: TYPE,
          time: new Date().toISOString(),
          subject: id,
          sequence: SEQUENCE,
          principal: call.caller.id,
          data: { ...destinations.showShort(row, api.eventBase), revision: row.revision },
        };
        const startedAt = performance.now();
        const { delivered, status, body, error } = await call.withoutPermit(() =>
          api.courier.deliver(destination, event, new AbortController().signal),
        );
        const result = {
          delivered,
          status_code: status ?? null,
          answer: body ?? null,
          error: error ?? null,
          duration_ms: Math.round(performance.now() - startedAt),
        };
        return { body: result };
      },
    }),
  );
}

/** Pausing and resuming event destinations, by request or by the service itself. */
import { z } from 'zod';
import { SERVICE } from '../../resources/event.ts';
import type { eventDestination } from '../../resources/event-destination.ts';
import { belongingTo, type Family, type SingleCall, singleParameters, writeLocked, writeRow } from '../crud/family.ts';
import { retryNow } from '../events/queue/requeue.ts';
import { type Api, operation } from '../http/operation.ts';
import { accountOf } from '../store/owning-account.ts';
import type { Row } from '../store/repository.ts';

type Destinations = Family<typeof eventDestination>;

const BY_REQUEST = 'Somebody has paused it.';
// The three days start anew; otherwise the next failure would pause it again.
const ACTIVE = { status: 'active', paused_at: null, paused_reason: null, failing_since: null };
const paused = (reason: string) => ({
  status: 'paused',
  paused_at: new Date().toISOString(),
  paused_reason: reason,
});

/** The body of operations that take none. */
export const nothing = z.strictObject({}).meta({ id: 'NoBody' });

/** Adds the two operations. */
export function addPausing(destinations: Destinations): void {
  const { resource } = destinations;
  const common = {
    method: 'POST',
    ...belongingTo(resource),
    params: singleParameters(resource),
    tagged: true,
    body: nothing,
    success: { status: 200, description: 'The event destination.', schema: resource.view },
    errors: ['PRECONDITION_FAILED'],
  } as const;
  const change = (api: Api, call: SingleCall, to: (row: Row) => object, also?: typeof retryNow) =>
    writeLocked(api, destinations, call, async (context, row) => {
      await also?.(context.tx, row.id);
      const next = { ...row, ...to(row) };
      const isSame = next.status === row.status;
      const revision = isSame ? row.revision : await writeRow(context, destinations, row, next);
      return { body: destinations.show(isSame ? row : next, call.base), revision };
    });

  destinations.add(
    operation({
      ...common,
      path: `${resource.path}/{id}/pause`,
      operationId: 'pauseEventDestination',
      summary: 'Pause an event destination',
      description: 'Events wait until it is resumed, for as long as events are kept. Pausing it again changes nothing.',
      handle: (call, api) => change(api, call, () => paused(BY_REQUEST)),
    }),
  );
  destinations.add(
    operation({
      ...common,
      path: `${resource.path}/{id}/resume`,
      operationId: 'resumeEventDestination',
      summary: 'Resume an event destination',
      description:
        'Sends the events that have waited, and those to come. Events that wait for another attempt are sent at once, also ' +
        'by a destination that is active.',
      handle: (call, api) => change(api, call, () => ACTIVE, retryNow),
    }),
  );
}

/** Pauses a destination whose receiver rejects events, unless it has been paused or deleted in the meantime. */
export async function pauseFailing(api: Api, destinations: Destinations, id: string, reason: string): Promise<void> {
  const account = await accountOf(api.db, destinations.resource, id);
  if (account === undefined) return;
  await api.db.within(account).transaction(async (tx) => {
    const row = await destinations.rows.lock(tx, id);
    if (row?.status !== 'active') return;
    const author = { caller: { id: SERVICE, keyId: null }, requestId: null };
    const open = destinations.sealed.open(api.secrets, row);
    await writeRow({ api, tx, ...author }, destinations, open, { ...open, ...paused(reason) });
  });
}

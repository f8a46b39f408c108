/**
 * What the delivery of events promises after every test: nothing that is due waits without a process that works on it.
 * Helpers that start an API register the check for the end of the test file.
 */
import pg from 'pg';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { RunningApi } from '../../../src/api/server.ts';
import { checkAtEnd } from '../../end-of-file.ts';

type Query = (text: string) => Promise<Record<string, unknown>[]>;

/** Events that nobody fans out, and streams that are due at an active destination without a live lease. */
const OVERDUE = `
  select 'event_queue' as waits_in, q.event_id as what, e.occurred_at as since
    from event_queue q join events e on e.id = q.event_id
   where e.occurred_at < now() - interval '5 seconds'
  union all
  select 'event_streams', s.destination_id || ' ' || s.resource_id, s.next_at
    from event_streams s join event_destinations d on d.id = s.destination_id
   where d.status = 'active' and s.next_at < now() - interval '5 seconds'
     and not exists (select from leases l where l.name = 'event_destination/' || d.id and l.until > now())`;

/** Waits until nothing is overdue: the lease of a killed process may have to end first. */
export async function untilNothingIsOverdue(query: Query, timeoutMs = 30_000): Promise<void> {
  await waitFor(
    'overdue deliveries to be made',
    async () => {
      const found = await query(OVERDUE);
      if (found.length > 0) throw new Error(JSON.stringify(found.slice(0, 5)));
      return true;
    },
    { timeoutMs, intervalMs: 200 },
  );
}

/** @param isServing whether the API still runs: a test may have stopped it */
export function checkNothingIsOverdueAtEnd(databaseUrl: string, isServing: () => boolean): void {
  checkAtEnd(async () => {
    if (!isServing()) return;
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      await untilNothingIsOverdue(async (text) => (await client.query<Record<string, unknown>>(text)).rows);
    } finally {
      await client.end();
    }
  });
}

/** The same for an API in this process. */
export function withCheckAtEnd<A extends Pick<RunningApi, 'databaseUrl' | 'stop'>>(api: A): A {
  let isServing = true;
  checkNothingIsOverdueAtEnd(api.databaseUrl, () => isServing);
  const stop = () => {
    isServing = false;
    return api.stop();
  };
  return { ...api, stop };
}

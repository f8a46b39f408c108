import { expect, test } from 'vitest';
import { leaseOf } from '../../../src/api/events/queue/streams.ts';
import { claimLeases } from '../../../src/api/leases/leases.ts';
import { eventDestination } from '../../../src/resources/event-destination.ts';
import { startTestApi } from '../harness.ts';
import { untilNothingIsOverdue } from './overdue.ts';

test('the check at the end of tests finds a stream that is due and that nobody works on', async () => {
  const { admin, rows, db } = await startTestApi();
  const target = { webhook: { url: 'https://hooks.tunnels.test/' } };
  const { id } = (await admin.post('/event_destinations', { target })).as(eventDestination.view);
  const due = `insert into event_streams values ($1, 'x', 1, now() - interval '6 seconds')`;
  const check = () => untilNothingIsOverdue(rows, 0);
  await check();
  await rows(due, [id]);
  await expect(check()).rejects.toThrow(`${id} x`);
  await claimLeases(db, [leaseOf(id)], { holder: 'test', ms: 60_000 });
  await check();
  await rows('delete from leases');
  await admin.post(`/event_destinations/${id}/pause`);
  await check();
});

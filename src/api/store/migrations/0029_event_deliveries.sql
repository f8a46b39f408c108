-- Deliveries are listed, and made again.

create index event_deliveries_by_destination_id on event_deliveries (destination_id, id);
create index event_deliveries_by_resource_id on event_deliveries (resource_id, id);

-- Its place in its stream, from the numbers of the queue, if somebody has asked to make it again. `seq` stays that of its
-- event, so that receivers can tell an old event from a new one. Such a delivery needs no subscription.
alter table event_deliveries add column requeued_seq bigint;
drop index event_deliveries_pending;
create index event_deliveries_pending on event_deliveries (destination_id, resource_id, coalesce(requeued_seq, seq))
  where state = 'pending';

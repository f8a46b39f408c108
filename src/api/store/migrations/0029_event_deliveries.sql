-- Deliveries are listed, made again, and deleted after a while.

create index event_deliveries_by_destination_id on event_deliveries (destination_id, id);
create index event_deliveries_by_resource_id on event_deliveries (resource_id, id);
-- What keeps an event from being deleted.
create index event_deliveries_pending_by_event_id on event_deliveries (event_id) where state = 'pending';

-- Its place in its stream, from the numbers of the queue, if somebody has asked to make it again. `seq` stays that of its
-- event, so that receivers can tell an old event from a new one. Such a delivery needs no subscription.
alter table event_deliveries add column requeued_seq bigint;
drop index event_deliveries_pending;
create index event_deliveries_pending on event_deliveries (destination_id, resource_id, coalesce(requeued_seq, seq))
  where state = 'pending';

-- Never set: deliveries say what has been delivered.
alter table events drop column delivered_at;

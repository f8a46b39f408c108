-- Delivery of events: what has to be sent where, and who is sending it.

-- Rows of a job that one process works on at a time: until `until`, and longer if it renews. The fence counts claims.
create table leases (
  name   text collate "C" primary key,
  holder text not null,
  fence  bigint not null,
  until  timestamptz not null
);

-- Events that subscriptions want, from the statement of the change until they are fanned out. The number is drawn while the
-- resource is locked, so it orders the events of one resource.
create table event_queue (
  seq              bigint generated always as identity primary key,
  event_id         text collate "C" not null,
  subscription_ids text[] collate "C" not null
);

-- One event to one destination. No references: deliveries outlive both.
create table event_deliveries (
  id               text collate "C" primary key,
  created_at       timestamptz not null,
  destination_id   text collate "C" not null,
  -- Those that asked for it when the event occurred.
  subscription_ids text[] collate "C" not null,
  event_id         text collate "C" not null,
  seq              bigint not null,
  type             text not null,
  resource_id      text collate "C" not null,
  state            text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'dropped')),
  attempts         integer not null default 0,
  first_attempt_at timestamptz,
  last_attempt_at  timestamptz,
  -- Null unless an attempt has failed and another one will be made.
  next_attempt_at  timestamptz,
  -- Of the last attempt.
  status_code      integer,
  answer           text,
  error            text,
  -- Its place in its stream, from the numbers of the queue, if somebody has asked to make it again. `seq` stays that of its
  -- event, so that receivers can tell an old event from a new one. Such a delivery needs no subscription.
  requeued_seq     bigint
);
-- The next of a stream.
create index event_deliveries_pending on event_deliveries (destination_id, resource_id, coalesce(requeued_seq, seq))
  where state = 'pending';
-- What keeps an event from being deleted.
create index event_deliveries_pending_by_event_id on event_deliveries (event_id) where state = 'pending';
-- For lists.
create index event_deliveries_by_destination_id on event_deliveries (destination_id, id);
create index event_deliveries_by_resource_id on event_deliveries (resource_id, id);

-- Deliveries of one resource to one destination, while any is pending: they are made one after the other.
create table event_streams (
  destination_id text collate "C" not null,
  resource_id    text collate "C" not null,
  pending        integer not null,
  -- When its first pending delivery is due.
  next_at        timestamptz not null,
  primary key (destination_id, resource_id)
);
create index event_streams_due on event_streams (destination_id, next_at);

-- The revision counts changes of status, but not how deliveries have been going.
alter table event_destinations
  add column status text not null default 'active' check (status in ('active', 'paused')),
  add column paused_at timestamptz,
  add column paused_reason text,
  add column last_success_at timestamptz,
  add column last_failure_at timestamptz,
  -- The first failure since the last success; null if the last delivery succeeded.
  add column failing_since timestamptz,
  add column last_error text,
  add column signing_secret_issued_at timestamptz not null default now(),
  -- What a rotation has replaced; it signs beside the new one until then.
  add column sealed_previous_signing_secret text,
  add column previous_signing_secret_until timestamptz;
update event_destinations set signing_secret_issued_at = created_at;

-- `events.delivered_at` was never set, and nothing reads it any more. It stays, since an older API beside this one or after a
-- rollback does, when it deletes old events.

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
  error            text
);
-- The next of a stream.
create index event_deliveries_pending on event_deliveries (destination_id, resource_id, seq) where state = 'pending';

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

-- How deliveries to a destination have been going. Not part of the destination, whose revision does not count deliveries.
create table event_destination_health (
  destination_id  text collate "C" primary key references event_destinations on delete cascade,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  -- The first failure since the last success; null if the last delivery succeeded.
  failing_since   timestamptz,
  last_error      text
);

alter table event_destinations
  add column status text not null default 'active' check (status in ('active', 'paused')),
  add column paused_at timestamptz,
  add column paused_reason text;

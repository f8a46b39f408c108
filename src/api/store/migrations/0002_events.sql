-- The transactional outbox: one row per change, written by the statement that makes the change.

create table events (
  id          text collate "C" primary key,
  type        text not null,
  occurred_at timestamptz not null,
  -- The user or bot who made the change. No reference: an event outlives its actor.
  actor       text collate "C" not null,
  resource_id text collate "C" not null,
  -- The resource as the API shows it, never with a secret.
  payload     jsonb not null
);

-- Scopes put the creates for one thing in order, so that all of them can be found and closed at once. A row outlives
-- the resources: it is what refuses a create that arrives after its resource was deleted.

create table idempotency_scopes (
  principal      text collate "C" not null,
  digest         text collate "C" not null,
  -- The highest sequence number that was used or closed; the next create must have the one after it.
  sequence       integer not null,
  -- Sequence numbers up to this one are closed.
  closed_through integer not null,
  used_at        timestamptz not null,
  primary key (principal, digest)
);

create index idempotency_scopes_by_use on idempotency_scopes (used_at);

alter table idempotency_keys
  add column scope    text collate "C",
  add column sequence integer;

create index idempotency_keys_by_scope on idempotency_keys (principal, scope) where scope is not null;

-- Idempotent creates. A key is known only by its SHA-256, and belongs to the user or bot who used it.

create table idempotency_keys (
  principal     text collate "C" not null,
  digest        text collate "C" not null,
  -- What was asked: SHA-256 over method, path and body. Null in a record that was closed before any create.
  fingerprint   text,
  resource_id   text collate "C",
  -- Where the resource is, from the root of the API.
  resource_path text,
  -- The first answer, without its one-time token.
  status        smallint,
  -- Not jsonb: the second answer has its members in the order of the first.
  body          json,
  -- The one-time token, sealed under the caller's API key and the idempotency key; neither is stored.
  sealed_token  bytea,
  created_at    timestamptz not null,
  closed_at     timestamptz,
  primary key (principal, digest)
);

create index idempotency_keys_by_resource on idempotency_keys (resource_id) where resource_id is not null;
create index idempotency_keys_sealed on idempotency_keys (created_at) where sealed_token is not null;
create index idempotency_keys_closed on idempotency_keys (closed_at) where closed_at is not null;

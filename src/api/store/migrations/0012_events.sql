create table event_destinations (
  id                    text collate "C" primary key,
  description           text,
  metadata              text,
  format                text not null,
  target                jsonb not null,
  -- An envelope of secrets.ts.
  sealed_signing_secret text not null,
  created_at            timestamptz not null,
  updated_at            timestamptz not null,
  revision              bigint not null default 1
);

create table event_subscriptions (
  id              text collate "C" primary key,
  description     text,
  metadata        text,
  -- Types of events, each once.
  sources         text[] not null,
  destination_ids text[] not null,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  revision        bigint not null default 1
);

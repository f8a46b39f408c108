create table endpoint_configurations (
  id            text collate "C" primary key,
  description   text,
  metadata      text,
  type          text not null,
  ip_policy_ids text[] not null,
  created_at    timestamptz not null,
  updated_at    timestamptz not null,
  revision      bigint not null default 1
);

create table tunnel_group_backends (
  id          text collate "C" primary key,
  description text,
  metadata    text,
  labels      jsonb not null,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  revision    bigint not null default 1
);

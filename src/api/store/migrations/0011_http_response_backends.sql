create table http_response_backends (
  id          text collate "C" primary key,
  description text,
  metadata    text,
  body        text not null,
  headers     jsonb,
  status_code integer not null,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  revision    bigint not null default 1
);

create table https_edges (
  id          text collate "C" primary key,
  description text,
  metadata    text,
  hostports   text[] not null,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  revision    bigint not null default 1
);

create table https_edge_routes (
  id          text collate "C" primary key,
  description text,
  metadata    text,
  edge_id     text collate "C" not null constraint https_edge_routes_edge references https_edges (id),
  match       text collate "C" not null,
  match_type  text not null,
  backend_id  text collate "C",
  modules     text[] not null,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  -- Counts changes of the modules too.
  revision    bigint not null default 1,
  constraint https_edge_routes_match unique (edge_id, match, match_type)
);

create index https_edge_routes_by_edge on https_edge_routes (edge_id, id desc);

create table tls_edges (
  id          text collate "C" primary key,
  description text,
  metadata    text,
  hostports   text[] not null,
  modules     text[] not null,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  -- Counts changes of the modules too.
  revision    bigint not null default 1
);

-- Which edge, of whichever kind, listens where.
create table edge_hostports (
  hostport text collate "C" primary key,
  edge_id  text collate "C" not null
);

create index edge_hostports_by_edge on edge_hostports (edge_id);

-- Settings that hang on a resource: of all kinds of modules, on all families that have any.
create table modules (
  -- <owner id>/<module>
  id             text collate "C" primary key,
  owner_id       text collate "C" not null,
  settings       jsonb not null,
  -- The secret settings: an envelope of secrets.ts with a JSON object in it.
  sealed_secrets text,
  updated_at     timestamptz not null
);

create index modules_by_owner on modules (owner_id);

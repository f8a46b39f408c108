create table ip_policies (
  id          text collate "C" primary key,
  description text,
  metadata    text,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  -- Counts changes of the policy's rules too, so that an ETag of the policy protects its rule set.
  revision    bigint not null default 1
);

create table ip_policy_rules (
  id           text collate "C" primary key,
  description  text,
  metadata     text,
  cidr         text collate "C" not null,
  action       text not null,
  ip_policy_id text collate "C" not null constraint ip_policy_rules_policy references ip_policies (id),
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  revision     bigint not null default 1,
  constraint ip_policy_rules_cidr unique (ip_policy_id, cidr)
);

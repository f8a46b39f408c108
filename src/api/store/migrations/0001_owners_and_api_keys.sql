-- People and programs, and the keys with which they call the API.
--
-- Ids are compared by byte (collate "C"): they sort by creation time, and paging relies on it.

create table users (
  id         text collate "C" primary key,
  name       text not null,
  admin      boolean not null,
  active     boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision   bigint not null default 1
);

create table bot_users (
  id         text collate "C" primary key,
  name       text not null,
  active     boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision   bigint not null default 1
);

-- An owner is a user or a bot. The two generated columns let the database hold both references.
create table api_keys (
  id            text collate "C" primary key,
  description   text,
  metadata      text,
  owner_id      text collate "C" not null,
  owner_user_id text collate "C" generated always as (case when owner_id like 'usr\_%' then owner_id end) stored
                constraint api_keys_owner_user references users (id),
  owner_bot_id  text collate "C" generated always as (case when owner_id like 'bot\_%' then owner_id end) stored
                constraint api_keys_owner_bot references bot_users (id),
  token_hash    bytea not null,
  expires_at    timestamptz,
  created_at    timestamptz not null,
  updated_at    timestamptz not null,
  revision      bigint not null default 1,
  constraint api_keys_owner check (num_nonnulls(owner_user_id, owner_bot_id) = 1),
  constraint api_keys_token_hash unique (token_hash)
);

create index api_keys_by_owner on api_keys (owner_id, id desc);
create index api_keys_by_owner_user on api_keys (owner_user_id) where owner_user_id is not null;
create index api_keys_by_owner_bot on api_keys (owner_bot_id) where owner_bot_id is not null;

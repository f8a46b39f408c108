create table credentials (
  id            text collate "C" primary key,
  description   text,
  metadata      text,
  acl           text[] not null,
  owner_id      text collate "C" not null,
  owner_user_id text collate "C" generated always as (case when owner_id like 'usr\_%' then owner_id end) stored
                constraint credentials_owner_user references users (id),
  owner_bot_id  text collate "C" generated always as (case when owner_id like 'bot\_%' then owner_id end) stored
                constraint credentials_owner_bot references bot_users (id),
  token_hash    bytea not null,
  created_at    timestamptz not null,
  updated_at    timestamptz not null,
  revision      bigint not null default 1,
  constraint credentials_owner check (num_nonnulls(owner_user_id, owner_bot_id) = 1),
  constraint credentials_token_hash unique (token_hash)
);

create index credentials_by_owner on credentials (owner_id, id desc);
create index credentials_by_owner_user on credentials (owner_user_id) where owner_user_id is not null;
create index credentials_by_owner_bot on credentials (owner_bot_id) where owner_bot_id is not null;

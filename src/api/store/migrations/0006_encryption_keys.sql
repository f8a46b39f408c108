-- The encryption keys under which secrets in this database may be sealed: a start without one of them is refused.

create table encryption_keys (
  id         text collate "C" primary key,
  -- A known text sealed under the key, which another key of the same id does not open.
  proof      text not null,
  created_at timestamptz not null
);

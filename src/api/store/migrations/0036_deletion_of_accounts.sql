-- Deletion of accounts with all that belongs to them, by a job (src/api/accounts).

alter table accounts
  -- Shown: when it began, how many resources are left, and why it last failed. Null unless the account is being deleted.
  add column deletion          jsonb,
  -- When to go on with it.
  add column deletion_due_at   timestamptz,
  -- Failed attempts since the last success.
  add column deletion_failures integer not null default 0,
  -- Who asked for it, and with which request.
  add column deletion_author   jsonb;
create index accounts_in_deletion on accounts (deletion_due_at) where deletion is not null;

-- As in 0033, but: nothing can be created once the deletion of the account has begun, and what the service creates by itself is
-- never refused. A renewal has a second certificate for a while.
create or replace function check_account() returns trigger
  language plpgsql security definer set search_path from current
  as $$
  declare
    account constant text := current_setting('tunnel_operator.account');
    quota bigint;
    used bigint;
  begin
    -- The deletion of the account takes the same lock alone, so it either sees these resources or has already committed.
    perform pg_advisory_xact_lock_shared(1211004330, hashtext(account));
    select (quotas ->> tg_table_name)::bigint into quota from accounts where id = account and deletion is null;
    if not found then
      raise foreign_key_violation using constraint = 'account_exists', message = 'the account has been deleted';
    end if;
    if quota is null or current_setting('tunnel_operator.quotas', true) = 'off' then
      return null;
    end if;
    -- Transactions take turns, so that each counts what the one before has created.
    perform pg_advisory_xact_lock(1211004331, hashtext(account || ' ' || tg_table_name));
    execute format('select count(*) from (select from %I where account_id = $1 limit $2 + 1) counted', tg_table_name)
      into used using account, quota;
    if used > quota then
      raise check_violation using constraint = 'account_quota', table = tg_table_name, detail = quota,
        message = 'the account has used up its quota';
    end if;
    return null;
  end
  $$;

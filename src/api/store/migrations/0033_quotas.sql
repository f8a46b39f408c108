-- Limits of accounts, and an end to resources that outlive their account.

alter table accounts
  add column quotas              jsonb,
  add column requests_per_second integer;

-- Runs after each statement that creates resources in an account. A function of the owner, who sees the table of accounts.
create function check_account() returns trigger
  language plpgsql security definer set search_path from current
  as $$
  declare
    account constant text := current_setting('tunnel_operator.account');
    quota bigint;
    used bigint;
  begin
    -- The deletion of the account takes the same lock alone, so it either sees these resources or has already committed.
    perform pg_advisory_xact_lock_shared(1211004330, hashtext(account));
    select (quotas ->> tg_table_name)::bigint into quota from accounts where id = account;
    if not found then
      raise foreign_key_violation using constraint = 'account_exists', message = 'the account has been deleted';
    end if;
    if quota is null then
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

do $$
declare
  name text;
begin
  foreach name in array array[
    'api_keys', 'bot_users', 'certificate_authorities', 'credentials', 'endpoint_configurations', 'event_destinations',
    'event_subscriptions', 'http_response_backends', 'https_edge_routes', 'https_edges', 'ip_policies', 'ip_policy_rules',
    'reserved_domains', 'ssh_certificate_authorities', 'ssh_host_certificates', 'tls_certificates', 'tls_edges',
    'tunnel_group_backends', 'users'] loop
    -- The first account has no quotas and remains, so what it creates costs nothing more.
    execute format($sql$
      create trigger account after insert on %I for each statement
        when (current_setting('tunnel_operator.account', true) not in ('', 'acc_01m8j9ky00e008000000000000'))
        execute function check_account()
      $sql$, name);
  end loop;
end
$$;

-- Accounts: each row of a resource, and what belongs to it, is of one account. Requests run as a role that may see and change
-- the rows of one account only (account-scope.ts; request-role.ts makes it). The owner of the tables is not restricted: nor are
-- background jobs, therefore, and servers of the release before while they still run.

create table accounts (
  id         text collate "C" primary key,
  name       text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision   bigint not null default 1
);
-- The time of its id. Rows of earlier releases belong to it.
insert into accounts (id, name, created_at, updated_at) values ('acc_01m8j9ky00e008000000000000', 'First', '2026-11-29T00:00:00Z', '2026-11-29T00:00:00Z');
create index accounts_by_name on accounts (name, id);

do $$
declare
  name text;
begin
  foreach name in array array[
    'api_keys', 'bot_users', 'certificate_authorities', 'credentials', 'endpoint_configurations', 'event_deliveries',
    'event_destinations', 'event_subscriptions', 'events', 'http_response_backends', 'https_edge_routes', 'https_edges',
    'idempotency_keys', 'idempotency_scopes', 'ip_policies', 'ip_policy_rules', 'modules', 'reserved_domains',
    'resource_managers', 'resource_references', 'ssh_certificate_authorities', 'ssh_host_certificates', 'tls_certificates',
    'tls_edges', 'tunnel_group_backends', 'users'] loop
    -- Not volatile, so it is evaluated once for all rows that exist: the table is not rewritten.
    execute format($sql$
      alter table %I add column account_id text collate "C" not null
        default coalesce(nullif(current_setting('tunnel_operator.account', true), ''), 'acc_01m8j9ky00e008000000000000')
      $sql$, name);
    execute format('alter table %I enable row level security', name);
    -- As a query, so that it is evaluated once for each statement. Without the setting, no row fits.
    execute format($sql$
      create policy account on %I to tunnel_operator_request
        using (account_id = (select current_setting('tunnel_operator.account', true)))
      $sql$, name);
  end loop;

  alter table accounts enable row level security;
  -- The first account manages all of them.
  create policy account on accounts to tunnel_operator_request
    using ((select current_setting('tunnel_operator.account', true)) = 'acc_01m8j9ky00e008000000000000');
end
$$;

-- The owner of a key or credential is of the same account. A foreign key sees all rows, so it compares the account as well. Not
-- validated: rows that exist already have owners in their account, and reading all of them would hold up writes.
create unique index users_in_account on users (id, account_id);
create unique index bot_users_in_account on bot_users (id, account_id);
alter table api_keys drop constraint api_keys_owner_user, drop constraint api_keys_owner_bot,
  add constraint api_keys_owner_user foreign key (owner_user_id, account_id) references users (id, account_id) not valid,
  add constraint api_keys_owner_bot foreign key (owner_bot_id, account_id) references bot_users (id, account_id) not valid;
alter table credentials drop constraint credentials_owner_user, drop constraint credentials_owner_bot,
  add constraint credentials_owner_user foreign key (owner_user_id, account_id) references users (id, account_id) not valid,
  add constraint credentials_owner_bot foreign key (owner_bot_id, account_id) references bot_users (id, account_id) not valid;

-- Whether another account has one of these domains, or one that ends so. A function of the owner, who sees all accounts; it tells
-- nothing else of them.
create function is_reserved_elsewhere(domains text[], ending text) returns boolean
  language sql stable security definer set search_path from current
  as $$
    select exists (
      select from reserved_domains
       where account_id <> coalesce(nullif(current_setting('tunnel_operator.account', true), ''), 'acc_01m8j9ky00e008000000000000')
         and (domain = any(domains) or right(domain, length(ending)) = ending))
  $$;

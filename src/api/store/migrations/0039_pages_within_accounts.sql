-- What pages within an account need, besides their indexes (0040).

-- The policies, in a form that no index and no statistics serve. Knowing that all rows of a list are of one account, PostgreSQL took
-- `order by account_id, id` for an order by id alone: it read the newest rows of all accounts until enough were of the right one.
do $$
declare
  name text;
begin
  for name in
    select tablename from pg_policies
     where schemaname = current_schema() and policyname = 'account' and tablename <> 'accounts' order by tablename loop
    execute format($sql$
      alter policy account on %I
        using (coalesce(account_id = (select current_setting('tunnel_operator.account', true)), false))
      $sql$, name);
  end loop;
end
$$;

-- The beginning of metadata, as a column: for requests, a condition on left(metadata, 128) is not tried before that of the policy, and
-- so not by an index, since the function might show rows of other accounts.

-- First, so that adding the column, which rewrites the table, does not build them again.
drop index
  api_keys_by_metadata, api_keys_by_owner_id_and_metadata, certificate_authorities_by_metadata,
  credentials_by_metadata, credentials_by_owner_id_and_metadata, endpoint_configurations_by_metadata,
  event_destinations_by_metadata, event_subscriptions_by_metadata, http_response_backends_by_metadata,
  https_edge_routes_by_edge_id_and_metadata, https_edges_by_metadata, ip_policies_by_metadata,
  ip_policy_rules_by_metadata, reserved_domains_by_metadata, ssh_certificate_authorities_by_metadata,
  ssh_host_certificates_by_metadata, tls_certificates_by_metadata, tls_edges_by_metadata,
  tunnel_group_backends_by_metadata;

do $$
declare
  name text;
begin
  foreach name in array array[
    'api_keys', 'certificate_authorities', 'credentials', 'endpoint_configurations', 'event_destinations',
    'event_subscriptions', 'http_response_backends', 'https_edge_routes', 'https_edges', 'ip_policies',
    'ip_policy_rules', 'reserved_domains', 'ssh_certificate_authorities', 'ssh_host_certificates',
    'tls_certificates', 'tls_edges', 'tunnel_group_backends'] loop
    execute format($sql$
      alter table %I add column metadata_start text collate "C" generated always as (left(metadata, 128)) stored
      $sql$, name);
  end loop;
end
$$;

-- The account of each principal.
alter table ssh_host_certificates_principals add column account_id text collate "C" not null
  default coalesce(nullif(current_setting('tunnel_operator.account', true), ''), 'acc_01m8j9ky00e008000000000000');
update ssh_host_certificates_principals p set account_id = c.account_id
  from ssh_host_certificates c where c.id = p.id and c.account_id <> p.account_id;
alter table ssh_host_certificates_principals
  drop constraint ssh_host_certificates_principals_pkey, add primary key (account_id, value, id);
alter table ssh_host_certificates_principals enable row level security;
create policy account on ssh_host_certificates_principals to tunnel_operator_request
  using (coalesce(account_id = (select current_setting('tunnel_operator.account', true)), false));

create or replace function list_principals() returns trigger language plpgsql as $$
begin
  insert into ssh_host_certificates_principals (account_id, value, id)
  select distinct new.account_id, unnest(new.principals), new.id;
  return null;
end $$;

-- Filters of lists, within an account: with the account first, a page is not read past the rows that others have with the same
-- value.

create index concurrently users_by_account_and_name on users (account_id, name, id);
create index concurrently bot_users_by_account_and_name on bot_users (account_id, name, id);
create index concurrently endpoint_configurations_by_account_and_type on endpoint_configurations (account_id, type, id);

create index concurrently api_keys_by_account_and_metadata on api_keys (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently certificate_authorities_by_account_and_metadata on certificate_authorities (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently credentials_by_account_and_metadata on credentials (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently endpoint_configurations_by_account_and_metadata on endpoint_configurations (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently event_destinations_by_account_and_metadata on event_destinations (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently event_subscriptions_by_account_and_metadata on event_subscriptions (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently http_response_backends_by_account_and_metadata on http_response_backends (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently https_edges_by_account_and_metadata on https_edges (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently ip_policies_by_account_and_metadata on ip_policies (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently ip_policy_rules_by_account_and_metadata on ip_policy_rules (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently reserved_domains_by_account_and_metadata on reserved_domains (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently ssh_certificate_authorities_by_account_and_metadata on ssh_certificate_authorities (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently ssh_host_certificates_by_account_and_metadata on ssh_host_certificates (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently tls_certificates_by_account_and_metadata on tls_certificates (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently tls_edges_by_account_and_metadata on tls_edges (account_id, metadata_start, id)
  where metadata is not null;
create index concurrently tunnel_group_backends_by_account_and_metadata on tunnel_group_backends (account_id, metadata_start, id)
  where metadata is not null;

-- Of an owner or an edge.
create index concurrently credentials_by_account_and_owner on credentials (account_id, owner_id, id);
create index concurrently api_keys_by_account_and_owner on api_keys (account_id, owner_id, id);
create index concurrently https_edge_routes_by_account_and_edge on https_edge_routes (account_id, edge_id, id);
create index concurrently credentials_by_account_owner_and_metadata on credentials (account_id, owner_id, metadata_start, id)
  where metadata is not null;
create index concurrently api_keys_by_account_owner_and_metadata on api_keys (account_id, owner_id, metadata_start, id)
  where metadata is not null;
create index concurrently https_edge_routes_by_account_edge_and_metadata on https_edge_routes (account_id, edge_id, metadata_start, id)
  where metadata is not null;

-- Logs. Background jobs look for a destination in all accounts.
create index concurrently events_by_resource_and_account on events (resource_id, account_id, id);
create index concurrently event_deliveries_by_resource_and_account on event_deliveries (resource_id, account_id, id);
create index concurrently event_deliveries_by_destination_and_account on event_deliveries (destination_id, account_id, id);

-- Lists of an account, newest first. By rows of (account_id, id), since `account_id = x order by id` may be read through all
-- accounts: by the index of ids, until enough of them are of the account.

create index concurrently api_keys_by_account on api_keys (account_id, id);
create index concurrently bot_users_by_account on bot_users (account_id, id);
create index concurrently certificate_authorities_by_account on certificate_authorities (account_id, id);
create index concurrently credentials_by_account on credentials (account_id, id);
create index concurrently endpoint_configurations_by_account on endpoint_configurations (account_id, id);
create index concurrently event_destinations_by_account on event_destinations (account_id, id);
create index concurrently event_subscriptions_by_account on event_subscriptions (account_id, id);
create index concurrently http_response_backends_by_account on http_response_backends (account_id, id);
create index concurrently https_edges_by_account on https_edges (account_id, id);
create index concurrently ip_policies_by_account on ip_policies (account_id, id);
create index concurrently ip_policy_rules_by_account on ip_policy_rules (account_id, id);
create index concurrently reserved_domains_by_account on reserved_domains (account_id, id);
create index concurrently ssh_certificate_authorities_by_account on ssh_certificate_authorities (account_id, id);
create index concurrently ssh_host_certificates_by_account on ssh_host_certificates (account_id, id);
create index concurrently tls_certificates_by_account on tls_certificates (account_id, id);
create index concurrently tls_edges_by_account on tls_edges (account_id, id);
create index concurrently tunnel_group_backends_by_account on tunnel_group_backends (account_id, id);
create index concurrently users_by_account on users (account_id, id);

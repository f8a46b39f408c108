-- Lists can be limited to resources with a given value. Each index ends with the id, so that a page is read from one place
-- and in order. Metadata is indexed by its beginning, since a row of an index must fit into a third of a page; resources
-- without metadata cost nothing.

-- Compared by byte, as the ids in the same indexes.
alter table users alter column name type text collate "C";
alter table bot_users alter column name type text collate "C";
alter table endpoint_configurations alter column type type text collate "C";

create index users_by_name on users (name, id);
create index bot_users_by_name on bot_users (name, id);
create index endpoint_configurations_by_type on endpoint_configurations (type, id);

-- The principals of each certificate, which has them for good.
create table ssh_host_certificates_principals (
  value text collate "C" not null,
  id    text collate "C" not null references ssh_host_certificates (id) on delete cascade,
  primary key (value, id)
);

create index ssh_host_certificates_principals_by_id on ssh_host_certificates_principals (id);

-- A trigger, so that servers of the release before write them as well while they still run.
create function list_principals() returns trigger language plpgsql as $$
begin
  insert into ssh_host_certificates_principals (value, id) select distinct unnest(new.principals), new.id;
  return null;
end $$;

create trigger ssh_host_certificates_list_principals after insert on ssh_host_certificates
  for each row execute function list_principals();

insert into ssh_host_certificates_principals (value, id)
select distinct unnest(principals), id from ssh_host_certificates;

create index ip_policies_by_metadata on ip_policies ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index ip_policy_rules_by_metadata on ip_policy_rules ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index credentials_by_metadata on credentials ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index http_response_backends_by_metadata on http_response_backends ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index tunnel_group_backends_by_metadata on tunnel_group_backends ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index endpoint_configurations_by_metadata on endpoint_configurations ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index reserved_domains_by_metadata on reserved_domains ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index https_edges_by_metadata on https_edges ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index tls_edges_by_metadata on tls_edges ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index event_subscriptions_by_metadata on event_subscriptions ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index event_destinations_by_metadata on event_destinations ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index certificate_authorities_by_metadata on certificate_authorities ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index tls_certificates_by_metadata on tls_certificates ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index ssh_certificate_authorities_by_metadata on ssh_certificate_authorities ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index ssh_host_certificates_by_metadata on ssh_host_certificates ((left(metadata, 128) collate "C"), id) where metadata is not null;
create index api_keys_by_metadata on api_keys ((left(metadata, 128) collate "C"), id) where metadata is not null;

-- Within an owner or an edge.
create index credentials_by_owner_id_and_metadata on credentials (owner_id, (left(metadata, 128) collate "C"), id)
  where metadata is not null;
create index api_keys_by_owner_id_and_metadata on api_keys (owner_id, (left(metadata, 128) collate "C"), id)
  where metadata is not null;
create index https_edge_routes_by_edge_id_and_metadata on https_edge_routes (edge_id, (left(metadata, 128) collate "C"), id)
  where metadata is not null;

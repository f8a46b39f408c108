-- What 0040 has replaced. The unique index of a route begins with its edge, for the foreign key.
drop index
  users_by_name, bot_users_by_name, endpoint_configurations_by_type, credentials_by_owner_and_id, api_keys_by_owner_and_id,
  https_edge_routes_by_edge_and_id, events_by_resource_id, event_deliveries_by_resource_id, event_deliveries_by_destination_id;

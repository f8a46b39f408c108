-- Pages are read by rows of (scope, id), which an index with two directions cannot serve.

create index credentials_by_owner_and_id on credentials (owner_id, id);
create index api_keys_by_owner_and_id on api_keys (owner_id, id);
create index https_edge_routes_by_edge_and_id on https_edge_routes (edge_id, id);

drop index credentials_by_owner;
drop index api_keys_by_owner;
drop index https_edge_routes_by_edge;

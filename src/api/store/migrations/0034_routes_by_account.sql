-- To count the routes of an account.
create index concurrently https_edge_routes_by_account on https_edge_routes (account_id, id);

-- The deliveries of an account, newest first: without it, those of an account with few are read past those of all others.
create index concurrently event_deliveries_by_account on event_deliveries (account_id, id);

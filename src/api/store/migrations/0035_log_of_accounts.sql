-- The audit log of an account, newest first: without it, that of an account with few events is read past those of all others.
create index concurrently events_by_account on events (account_id, id);

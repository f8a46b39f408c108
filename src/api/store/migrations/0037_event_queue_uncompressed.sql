-- An event for many subscriptions has a long list of ids. Compressing it would take as long as all the rest of the insert, for a row
-- that is soon deleted.
alter table event_queue set (toast_tuple_target = 8160);

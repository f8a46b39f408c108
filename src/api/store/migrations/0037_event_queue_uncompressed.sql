-- An event for 100 subscriptions has 3 KiB of ids. To compress them took a seventh of the time of the insert, for a row that is soon deleted.
alter table event_queue set (toast_tuple_target = 8160);

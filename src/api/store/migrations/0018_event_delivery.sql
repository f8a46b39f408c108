-- When the last of its destinations has received an event; null while there may be something left to deliver. From then on
-- it is kept for the time that is configured (event-retention.ts).

alter table events add column delivered_at timestamptz;

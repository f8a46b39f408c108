-- With which key and request a change was made, which revision it gave, and what it changed. Events of earlier releases lack
-- them. The log is read for one resource, or over a part of all ids: every write pays for each index (docs/api/events.md).

alter table events
  add column api_key_id     text collate "C",
  add column request_id     text,
  add column revision       bigint,
  -- Of an update: the members of the payload that differ from before.
  add column changed_fields text[];

create index events_by_resource_id on events (resource_id, id);

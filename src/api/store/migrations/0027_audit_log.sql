-- With which key and request a change was made, which revision it gave, and what it changed. Events of earlier releases
-- lack them.

alter table events
  add column api_key_id     text collate "C",
  add column request_id     text,
  add column revision       bigint,
  -- Of an update: the members of the payload that differ from before.
  add column changed_fields text[];

-- Which resource refers to which, for all families: written with the referring resource, read when the other one is
-- to be deleted. No foreign keys: the target of a reference is in one of many tables, and some references outlive it.

create table resource_references (
  referrer_id text collate "C" not null,
  -- The field that refers: `certificate_id`, or `ip_restriction/ip_policy_ids` of a module.
  place       text not null,
  target_id   text collate "C" not null,
  -- Name of the referring family: `reserved_domain`.
  referrer    text not null,
  primary key (referrer_id, place, target_id)
);

create index resource_references_by_target on resource_references (target_id, referrer, referrer_id);

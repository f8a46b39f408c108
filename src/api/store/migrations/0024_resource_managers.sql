-- Who manages a resource, so that a copy of its object, perhaps in another cluster, is told apart from the original. A row
-- goes with its resource.

create table resource_managers (
  resource_id text collate "C" not null,
  -- Empty for the resource itself, or `modules` for its modules, which another object may manage.
  part        text collate "C" not null,
  manager_id  text collate "C" not null,
  -- For people: the object that the id stands for.
  namespace   text not null,
  kind        text not null,
  name        text not null,
  since       timestamptz not null,
  primary key (resource_id, part)
);

-- Identifies this installation to its clients: behind one address and with one API key, another database can come to
-- answer, in which nothing that they created exists.

create table installation (
  id         uuid not null default gen_random_uuid(),
  -- There is exactly one row.
  is_only    boolean primary key default true check (is_only)
);

insert into installation default values;

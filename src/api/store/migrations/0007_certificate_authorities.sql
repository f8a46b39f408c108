create table certificate_authorities (
  id                  text collate "C" primary key,
  description         text,
  metadata            text,
  ca_pem              text not null,
  subject_common_name text,
  not_before          timestamptz not null,
  not_after           timestamptz not null,
  key_usages          text[] not null,
  extended_key_usages text[] not null,
  created_at          timestamptz not null,
  updated_at          timestamptz not null,
  revision            bigint not null default 1
);

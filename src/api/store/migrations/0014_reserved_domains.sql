create table reserved_domains (
  id                              text collate "C" primary key,
  description                     text,
  metadata                        text,
  -- In ASCII and lower case.
  domain                          text collate "C" not null,
  region                          text,
  cname_target                    text,
  acme_challenge_cname_target     text,
  certificate_id                  text collate "C",
  certificate_management_policy   jsonb,
  certificate_management_status   jsonb,
  http_endpoint_configuration_id  text collate "C",
  https_endpoint_configuration_id text collate "C",
  created_at                      timestamptz not null,
  updated_at                      timestamptz not null,
  revision                        bigint not null default 1,
  constraint reserved_domains_domain unique (domain),
  constraint reserved_domains_status check ((certificate_management_policy is null) = (certificate_management_status is null))
);

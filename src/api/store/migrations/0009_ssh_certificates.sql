create table ssh_certificate_authorities (
  id               text collate "C" primary key,
  description      text,
  metadata         text,
  private_key_type text not null,
  elliptic_curve   text,
  public_key       text not null,
  key_type         text not null,
  -- PKCS #8 in PEM, sealed (src/api/secrets.ts).
  private_key      text not null,
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  revision         bigint not null default 1
);

create table ssh_host_certificates (
  id                           text collate "C" primary key,
  description                  text,
  metadata                     text,
  public_key                   text not null,
  key_type                     text not null,
  ssh_certificate_authority_id text collate "C" not null
                               constraint ssh_host_certificates_authority references ssh_certificate_authorities (id),
  principals                   text[] not null,
  valid_after                  timestamptz not null,
  valid_until                  timestamptz not null,
  -- Random; revocation lists name certificates by it.
  serial                       bigint not null,
  certificate                  text not null,
  created_at                   timestamptz not null,
  updated_at                   timestamptz not null,
  revision                     bigint not null default 1,
  constraint ssh_host_certificates_serial unique (ssh_certificate_authority_id, serial)
);

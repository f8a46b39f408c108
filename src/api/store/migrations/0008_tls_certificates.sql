create table tls_certificates (
  id                        text collate "C" primary key,
  description               text,
  metadata                  text,
  certificate_pem           text not null,
  -- PKCS #8 in PEM, sealed (src/api/secrets.ts).
  private_key               text not null,
  subject_common_name       text,
  subject_alternative_names jsonb not null,
  not_before                timestamptz not null,
  not_after                 timestamptz not null,
  serial_number             text not null,
  key_usages                text[] not null,
  extended_key_usages       text[] not null,
  private_key_type          text not null,
  -- When this service obtained the certificate; null for an uploaded one.
  issued_at                 timestamptz,
  created_at                timestamptz not null,
  updated_at                timestamptz not null,
  revision                  bigint not null default 1
);

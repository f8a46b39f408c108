-- Certificates by themselves: the account at the authority, a job for each domain with a policy, and its challenges.

create table acme_accounts (
  -- URL of the directory, and the external account if there is one.
  id            text collate "C" primary key,
  -- Sealed.
  private_key   text not null,
  -- Null until the authority knows it.
  url           text,
  -- When the next order would be placed if all were spread evenly; bursts are placed earlier (order-slots.ts).
  next_order_at timestamptz not null default 'epoch'
);

-- The row of a domain is its job. The revision does not count what the job changes.
alter table reserved_domains
  -- When to work on it next; null: at once.
  add column certificate_job_due_at timestamptz,
  -- Failures since the last success: validations that the authority has tried, and others since then.
  add column certificate_job_refusals integer not null default 0,
  add column certificate_job_failures integer not null default 0,
  -- From when on an order may be placed; null: not asked for yet.
  add column certificate_job_order_at timestamptz,
  add column certificate_job_order_url text,
  -- When an order was last placed; stays when the job is another one.
  add column certificate_ordered_at timestamptz,
  -- The key that the order's certificate is for; sealed.
  add column certificate_job_private_key text,
  -- When the last certificate was issued; stays when the policy goes.
  add column certificate_issued_at timestamptz,
  -- What the authority has said about renewing the present certificate.
  add column certificate_renewal jsonb;
create index reserved_domains_certificate_due on reserved_domains (coalesce(certificate_job_due_at, '-infinity'))
  where certificate_management_policy is not null;

create table acme_challenges (
  token             text collate "C" primary key,
  domain_id         text collate "C" not null references reserved_domains (id) on delete cascade,
  -- What HTTP serves.
  key_authorization text not null,
  -- What DNS has.
  txt               text not null,
  -- Whether the authority was told to look. It must be told once.
  answered          boolean not null default false
);
create index acme_challenges_by_domain_id on acme_challenges (domain_id);

-- Certificates that the service has obtained: they are deleted when nothing refers to them any more.
create index tls_certificates_issued on tls_certificates (id) where issued_at is not null;

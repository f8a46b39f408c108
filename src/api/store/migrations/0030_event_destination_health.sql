-- How deliveries to a destination have been going is shown with it, so it belongs to its row. The revision does not count it.
drop table event_destination_health;

alter table event_destinations
  add column last_success_at timestamptz,
  add column last_failure_at timestamptz,
  -- The first failure since the last success; null if the last delivery succeeded.
  add column failing_since timestamptz,
  add column last_error text,
  -- What a rotation has replaced; it signs beside the new one until then.
  add column sealed_previous_signing_secret text,
  add column previous_signing_secret_until timestamptz;

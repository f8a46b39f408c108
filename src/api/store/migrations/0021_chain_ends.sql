-- When the first certificate of the chain expires; null for chains that were uploaded before this was recorded.
alter table tls_certificates add column chain_not_after timestamptz;

-- Replays of earlier creates show it as well.
update idempotency_keys
   set body = (regexp_replace(body::text, '}\s*$', ',"chain_not_after":null}'))::json
 where resource_id like 'cert\_%';

-- Responses show times of clients in whole seconds, and what they point at as id and address. Two places have kept the
-- earlier forms: expiry with a fraction of a second, and the first answers to creates, which a replay repeats.

update api_keys set expires_at = date_trunc('second', expires_at) where expires_at <> date_trunc('second', expires_at);

update idempotency_keys
   set body = regexp_replace(body::text, '"(expires_at|valid_after|valid_until)":"([^".]*)\.\d+Z"', '"\1":"\2Z"', 'g')::json
 where resource_id like 'ak\_%' or resource_id like 'shcrt\_%';

update idempotency_keys
   set body = regexp_replace(body::text, '"ip_policy_id":"(ipp_[0-9a-z]+)"', format(
         '"ip_policy":{"id":"\1","uri":"%s/ip_policies/\1"}', regexp_replace(body->>'uri', '/ip_policy_rules/[^/]*$', '')
       ))::json
 where resource_id like 'ipr\_%';

update idempotency_keys
   set body = regexp_replace(body::text, '"edge_id":"(edghts_[0-9a-z]+)"', format(
         '"edge":{"id":"\1","uri":"%s"}', regexp_replace(body->>'uri', '/routes/[^/]*$', '')
       ))::json
 where resource_id like 'edghtsrt\_%';

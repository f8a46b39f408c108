-- Webhook URLs, and headers whose names say that they are secret, are sealed: the envelope has the whole value, the column
-- beside it shows it without the secret parts. Null: nothing in the value is secret. `plain`: it has not been sealed yet.
-- That is the default, so that rows of the release before, whenever it writes them, are found and sealed.

alter table event_destinations add column sealed_target text default 'plain';
alter table http_response_backends add column sealed_headers text default 'plain';

create index event_destinations_plain on event_destinations (id) where sealed_target = 'plain';
create index http_response_backends_plain on http_response_backends (id) where sealed_headers = 'plain';

-- Events and the stored responses of creates no longer have the values. A replay takes them from its request.
update events
   set payload = jsonb_set(payload, '{target,webhook,url}',
                           to_jsonb(regexp_replace(payload #>> '{target,webhook,url}', '^([^:]+://[^/?]+)[/?].+$', '\1/…')))
 where type like 'event\_destination\_%' and payload #>> '{target,webhook,url}' is not null;

update events
   set payload = jsonb_set(payload, '{headers}', (select jsonb_object_agg(key, '…') from jsonb_each(payload->'headers')))
 where type like 'http\_response\_backend\_%' and jsonb_typeof(payload->'headers') = 'object'
   and payload->'headers' <> '{}';

update idempotency_keys
   set body = (select json_object_agg(
                        key,
                        case when key = 'target' then json_build_object('webhook', json_build_object('url', '…'))
                             when key = 'headers' and json_typeof(value) = 'object' then '{}'
                             else value end
                        order by n)
                 from json_each(body) with ordinality each (key, value, n))
 where (resource_id like 'ed\_%' or resource_id like 'bkdhr\_%') and body is not null;

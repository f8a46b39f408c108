-- Paths and blocks are stored in their normal form, so that two spellings of one are equal. Of several rows with the same
-- normal form, the one that has it already keeps it, or else the oldest gets it; the others stay as they are.

with spelled as (
  select id, edge_id, match_type, (
           select string_agg(
                    case when code between 48 and 57 or code between 65 and 90 or code between 97 and 122
                              or code in (45, 46, 95, 126) then chr(code)
                         when code is null then part
                         else upper(part) end, '' order by at)
             from regexp_split_to_table(regexp_replace(match, '(%[0-9A-Fa-f]{2})', E'\n\\1\n', 'g'), E'\n')
                  with ordinality parts (part, at),
                  lateral (select case when part ~ '^%[0-9A-Fa-f]{2}$' then ('x' || substr(part, 2, 2))::bit(8)::int end) c (code)
         ) as normal
    from https_edge_routes where match like '%\%%'),
first as (
  select distinct on (edge_id, match_type, normal) id, normal
    from spelled s
   where not exists (
           select 1 from https_edge_routes r
            where r.edge_id = s.edge_id and r.match_type = s.match_type and r.match = s.normal)
   order by edge_id, match_type, normal, id)
update https_edge_routes r set match = first.normal, revision = r.revision + 1, updated_at = now()
  from first where first.id = r.id;

with spelled as (
  select id, ip_policy_id,
         substring(host(cidr::inet) from '[0-9.]+$') || '/' || masklen(cidr::inet) - 96 as normal
    from ip_policy_rules where cidr like '::ffff:%' and cidr::inet <<= '::ffff:0.0.0.0/96'),
first as (
  select id, normal
    from spelled s
   where not exists (select 1 from ip_policy_rules r where r.ip_policy_id = s.ip_policy_id and r.cidr = s.normal)),
changed as (
  update ip_policy_rules r set cidr = first.normal, revision = r.revision + 1, updated_at = now()
    from first where first.id = r.id
  returning r.ip_policy_id)
update ip_policies set revision = revision + 1, updated_at = now() where id in (select ip_policy_id from changed);

import { expect, test } from 'vitest';
import { summaryOf } from '../../../src/api/store/statement-summary.ts';

test.each([
  ['select id, name from users where id = $1 for update', 'SELECT', 'SELECT users'],
  [
    'select 1 from api_keys k join users u on u.id = k.owner_id for update of k',
    'SELECT',
    'SELECT api_keys SELECT users',
  ],
  ['select pg_advisory_xact_lock($1)', 'SELECT', 'SELECT'],
  ['delete from idempotency_keys where closed_at is distinct from $1', 'DELETE', 'DELETE idempotency_keys'],
  [
    `with event as (insert into events (id, type) values ($3, $4))
     insert into ip_policies (id, description) values ($1, $2)`,
    'INSERT',
    'INSERT events INSERT ip_policies',
  ],
  [
    'insert into scopes as s (id) values ($1) on conflict (id) do update set used_at = $2 returning id',
    'INSERT',
    'INSERT scopes',
  ],
  [
    'update rules t set a = s.a from jsonb_populate_recordset(null::rules, $1::jsonb) s where t.id = s.id',
    'UPDATE',
    'UPDATE rules',
  ],
  [
    'with kept as materialized (select id from hostports where id = any($1)), gone as (delete from leases) select * from kept',
    'SELECT',
    'SELECT hostports DELETE leases',
  ],
  [
    'with gone as (delete from leases where id = any((select $1)) returning id) insert into hostports select id from gone',
    'INSERT',
    'DELETE leases INSERT hostports',
  ],
  ['begin', 'OTHER', 'OTHER'],
])('%s', (text, operation, summary) => {
  expect(summaryOf(text)).toEqual({ operation, summary });
});

/** How the automatic certificates of all domains are. */
import { z } from 'zod';
import { reservedDomain } from '../../resources/reserved-domain.ts';
import { tlsCertificate } from '../../resources/tls-certificate.ts';
import type { Executor } from '../store/database.ts';

const found = z.object({ dnsErrors: z.number(), internalErrors: z.number(), leastLifetimeLeft: z.number() });

const STATE = `
  with managed as (
    select certificate_id, certificate_management_status #>> '{provisioning_job,error_code}' as error
      from ${reservedDomain.table} where certificate_management_policy is not null)
  select count(*) filter (where error = 'DNS_ERROR')::float8 as "dnsErrors",
         count(*) filter (where error = 'INTERNAL_ERROR')::float8 as "internalErrors",
         coalesce(min(greatest(extract(epoch from not_after - now()) / extract(epoch from not_after - not_before), 0)), 1)
           ::float8 as "leastLifetimeLeft"
    from managed left join ${tlsCertificate.table} t on t.id = certificate_id`;

export async function certificateState(db: Executor) {
  const [row] = await db.query({ name: 'certificate_jobs.state', text: STATE, values: [] });
  return found.parse(row);
}

/** Reserved domains: their targets, certificate or policy, endpoint configurations, and the two ways to detach. */
import { isDeepStrictEqual } from 'node:util';
import type { View } from '../../resources/definition/resource.ts';
import { endpointConfiguration } from '../../resources/endpoint-configuration.ts';
import { certificatePolicy, NOT_STARTED, reservedDomain } from '../../resources/reserved-domain.ts';
import { type Family, idParameter } from '../crud/family.ts';
import type { Change } from '../crud/hooks.ts';
import { mount } from '../crud/mount.ts';
import { update } from '../crud/operations.ts';
import { conflict, invalidRequest } from '../errors/errors.ts';
import type { Api } from '../http/operation.ts';
import type { Row } from '../store/repository.ts';
import { cnameTargets, reservedByService } from './domain-targets.ts';

type Domain = View<typeof reservedDomain>;

export function reservedDomains(api: Api): void {
  const family = mount(api, reservedDomain, {
    derive(after, before) {
      refuseBothCertificates(after, before);
      return {
        ...(before ? {} : targetsOf(api, after)),
        certificate_management_status: statusOf(api, after, before),
      };
    },
    async beforeUpdate(change, before, after) {
      for (const scheme of ['http', 'https'] as const) {
        const id = after[`${scheme}_endpoint_configuration`]?.id;
        if (id !== before[`${scheme}_endpoint_configuration`]?.id) await requireType(change, scheme, id);
      }
    },
    async explain(broken, { domain }: Domain, db) {
      if (broken.constraint !== 'reserved_domains_domain') return undefined;
      const text = 'select id from reserved_domains where domain = $1';
      const [existing] = await db.query({ text, values: [domain] });
      const id = String(existing?.id ?? 'unknown');
      return conflict(`The domain ${domain} is reserved already.`, { '/domain': `is that of ${id}`, id });
    },
  });
  addDetach(api, family, 'certificate', 'certificate_id');
  addDetach(api, family, 'certificate_management_policy', 'certificate_management_policy');
}

/**
 * A certificate of the user's own and automatic ones exclude each other. Only what a request sets is judged: a domain
 * with a policy also has a certificate once one has been issued.
 */
function refuseBothCertificates(after: Row, before: Row | undefined): void {
  const both = after.certificate_id !== null && after.certificate_management_policy !== null;
  if (!both) return;
  const attaches = after.certificate_id !== (before?.certificate_id ?? null);
  const manages = (before?.certificate_management_policy ?? null) === null;
  const problems = {
    ...(attaches
      ? { '/certificate_id': 'excludes a certificate_management_policy; detach that, or set it to null' }
      : {}),
    ...(manages
      ? { '/certificate_management_policy': 'excludes a certificate_id; detach that, or set it to null' }
      : {}),
  };
  if (Object.keys(problems).length > 0) throw invalidRequest(problems);
}

function targetsOf({ platform }: Api, { id, domain }: Row) {
  const problem = reservedByService(String(domain), platform.serviceDomains);
  if (problem) throw invalidRequest({ '/domain': problem });
  return cnameTargets(id, String(domain), platform.serviceDomains);
}

function statusOf({ platform }: Api, after: Row, before: Row | undefined) {
  const policy = certificatePolicy.nullable().parse(after.certificate_management_policy);
  if (policy === null) return null;
  if (before && isDeepStrictEqual(before.certificate_management_policy, policy)) {
    return before.certificate_management_status;
  }
  if (policy.authority !== platform.acmeAuthority) {
    const problem = `must be "${platform.acmeAuthority}", the only authority here`;
    throw invalidRequest({ '/certificate_management_policy/authority': problem });
  }
  return NOT_STARTED;
}

async function requireType({ tx }: Change, scheme: 'http' | 'https', id: string | undefined): Promise<void> {
  if (id === undefined) return;
  const text = `select type from ${endpointConfiguration.table} where id = $1`;
  const [found] = await tx.query({ name: 'endpoint_configurations.type', text, values: [id] });
  if (found?.type === scheme) return;
  const problem = `must be of type ${scheme}; ${id} is of type ${found?.type}`;
  throw invalidRequest({ [`/${scheme}_endpoint_configuration_id`]: problem });
}

/** `DELETE /reserved_domains/{id}/<what>`: the same as setting the field to null; nothing to detach is no error. */
function addDetach(api: Api, family: Family<typeof reservedDomain>, what: string, field: string): void {
  const { path, tag, access } = reservedDomain;
  const said = what.replaceAll('_', ' ');
  api.add({
    method: 'DELETE',
    path: `${path}/{id}/${what}`,
    operationId: what === 'certificate' ? 'detachReservedDomainCertificate' : 'detachReservedDomainCertificatePolicy',
    summary: `Detach the ${said} of a reserved domain`,
    tag,
    access,
    tagged: true,
    params: { id: idParameter(reservedDomain) },
    success: { status: 204, description: `The domain has no ${said}.` },
    errors: ['PRECONDITION_FAILED'],
    async handle(call) {
      await update(api, family, { ...call, body: { [field]: null } });
      return {};
    },
  });
}

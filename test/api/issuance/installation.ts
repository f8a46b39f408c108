/** An installation whose certificates come from Pebble, which resolves names through unbound. Only for test files. */
import type { z } from 'zod';
import { noPebble, type PebbleOptions, startPebble } from '../../../dev/acme/pebble.ts';
import { noUnbound, startUnbound } from '../../../dev/acme/unbound.ts';
import { startUserZone } from '../../../dev/acme/user-zone.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { ApiConfig } from '../../../src/api/settings.ts';
import { freePort } from '../../../src/postgres/ports.ts';
import { reservedDomain } from '../../../src/resources/reserved-domain.ts';
import { createTestDatabase } from '../../harness.ts';
import { type StartedApi, startedApi } from '../started-api.ts';

export const noAuthority = noPebble ?? noUnbound;

export const ADMIN_KEY = 'tnl_ak_admin_012345678901234567890';
export const KEYS: NonNullable<ApiConfig['encryptionKey']> = [{ id: 'a', bytes: Buffer.alloc(32, 1) }];
const SERVICE = 'service.example';

export type Domain = z.output<typeof reservedDomain.view>;

export type Installation = Awaited<ReturnType<typeof startInstallation>>;

/** Domains of users are below `users.example`. `start` starts an API with a database of its own. */
export async function startInstallation(options: Omit<PebbleOptions, 'dnsPort' | 'httpPort'> = {}) {
  const [port, acmeDnsPort] = [await freePort(), await freePort()];
  const users = await startUserZone('users.example');
  const service = await startUserZone(SERVICE);
  for (const below of [SERVICE, `cname.${SERVICE}`]) service.set(`*.${below}`, { type: 'A', data: '127.0.0.1' });
  const unbound = await startUnbound([users, service, { apex: `acme.${SERVICE}`, port: acmeDnsPort }]);
  const pebble = await startPebble({ ...options, dnsPort: unbound.port, httpPort: port });
  const settings: Partial<ApiConfig> = {
    ...{ port, serviceDomains: [SERVICE] },
    acmeDirectoryUrl: pebble.directoryUrl,
    acmeTrustedCertificates: pebble.serverCertificate,
    acmeResolvers: [`127.0.0.1:${unbound.port}`],
    acmeNameServers: ['ns1.example.net'],
    ...{ acmeDnsPort, acmeDnsHost: '127.0.0.1' },
  };
  return {
    ...{ pebble, users, settings },
    async start() {
      const databaseUrl = await createTestDatabase();
      return startedApi({ databaseUrl, bootstrapApiKey: ADMIN_KEY, encryptionKey: KEYS, ...settings });
    },
    async stop() {
      await pebble.stop();
      await unbound.stop();
      await Promise.all([users.stop(), service.stop()]);
    },
  };
}

/** Reserves a domain with a policy. */
export async function reserve(api: StartedApi, domain: string, policy: object = {}): Promise<Domain> {
  const certificate_management_policy = { authority: 'letsencrypt', ...policy };
  const { status, text } = await api.ask(ADMIN_KEY, '/reserved_domains', { domain, certificate_management_policy });
  if (status !== 201) throw new Error(text);
  return reservedDomain.view.parse(JSON.parse(text));
}

export async function domainOf(api: StartedApi, { id }: { id: string }): Promise<Domain> {
  return reservedDomain.view.parse(JSON.parse((await api.ask(ADMIN_KEY, `/reserved_domains/${id}`)).text));
}

/** Waits until the domain has a certificate and no job. */
export function untilIssued(api: StartedApi, domain: { id: string }): Promise<Domain> {
  return waitFor('a certificate', async () => {
    const seen = await domainOf(api, domain);
    const { certificate, certificate_management_status: status } = seen;
    if (certificate !== null && status?.provisioning_job === null) return seen;
    throw new Error(JSON.stringify(status));
  });
}

/** Points a domain to the service, as its owner does. */
export function pointToService({ users }: Pick<Installation, 'users'>, domain: Domain): void {
  const { cname_target: target, acme_challenge_cname_target: challenges } = domain;
  if (target !== null) users.set(domain.domain, { type: 'CNAME', data: target });
  if (challenges !== null)
    users.set(domain.domain.replace('*', '_acme-challenge'), { type: 'CNAME', data: challenges });
}

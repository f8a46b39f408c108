/** Issues and renews the certificates of reserved domains with a policy. */
import { hostname } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import { z } from 'zod';
import { createAcmeClient } from '../acme/client.ts';
import { BUILD } from '../build.ts';
import { type DnsServer, startDnsServer } from '../dns/server.ts';
import { answerFrom } from '../dns/zone.ts';
import { isBelow } from '../resources/formats/domain-name.ts';
import { tlsCertificate } from '../resources/tls-certificate.ts';
import { CannotStart, cannotListen } from '../settings/cannot-start.ts';
import type { Values } from '../settings/settings.ts';
import type { certificateSettings } from './certificate-settings.ts';
import { challengeName, challengeZoneName } from './families/service-domains.ts';
import { failureLog } from './guard/refusal-log.ts';
import type { Api } from './http/operation.ts';
import { createAuthority } from './issuance/authority.ts';
import { challengeZone, noteAnswered, storeChallenge } from './issuance/challenges.ts';
import type { Job } from './issuance/jobs.ts';
import { LETS_ENCRYPT } from './issuance/order-slots.ts';
import { type PresentCertificate, validityOf } from './issuance/renewal.ts';
import { startRunner } from './issuance/runner.ts';
import { createSelfCheck, type WantedRecord } from './issuance/self-check.ts';
import type { Executor } from './store/database.ts';
import { countCertificate } from './telemetry/certificate-metrics.ts';

type CertificateConfig = Values<typeof certificateSettings>;

export interface Issuance {
  stop(): Promise<void>;
}

/** Starts issuing, if this process is to. Processes on the same database share the work. @throws CannotStart */
export function startIssuance(
  api: Api,
  config: CertificateConfig,
  logger: FastifyBaseLogger | undefined,
): Issuance | undefined {
  const { acmeDirectoryUrl: directoryUrl, certificateIssuance } = config;
  if (directoryUrl === undefined || !certificateIssuance) return undefined;
  const { db, secrets, platform } = api;
  const client = createAcmeClient({
    directoryUrl,
    userAgent: `tunnel-operator/${BUILD.version}`,
    trustedCertificates: config.acmeTrustedCertificates,
  });
  const contacts = config.acmeContacts ?? [];
  const authority = createAuthority(db, secrets, {
    ...{ client, directoryUrl, contacts, rate: LETS_ENCRYPT },
    external: externalAccount(config),
  });
  const onError = logger ? failureLog(logger) : () => undefined;
  const runner = startRunner({
    api,
    steps: {
      authority,
      profile: config.acmeProfile,
      selfCheck: config.acmeSelfCheck ? createSelfCheck(config.acmeResolvers) : undefined,
      wantedRecord: (job) => wantedRecord(job, platform.serviceDomains),
      answersDns: config.acmeNameServers !== undefined,
      storeChallenge: (domainId, token, { key }) => storeChallenge(db, domainId, token, key),
      noteAnswered: (token) => noteAnswered(db, token),
      present: (job) => presentCertificate(db, job),
    },
    holder: `${hostname()} ${process.pid}`,
    onError,
    observe(result, domain, error) {
      countCertificate(result);
      if (result === 'failed') logger?.warn({ domain, error }, 'a certificate could not be issued');
      else logger?.info({ domain }, 'issued a certificate');
    },
  });
  return {
    async stop() {
      await runner.stop();
      await client.close();
    },
  };
}

/** @throws CannotStart if only a part of it is set */
function externalAccount({ acmeExternalKeyId: keyId, acmeExternalHmacKey: hmacKey }: CertificateConfig) {
  if (keyId !== undefined && hmacKey !== undefined) return { keyId, hmacKey };
  if (keyId === undefined && hmacKey === undefined) return undefined;
  const missing = keyId === undefined ? 'ACME_EXTERNAL_KEY_ID' : 'ACME_EXTERNAL_HMAC_KEY';
  throw new CannotStart(`${missing} is not set, but the other part of the external account is`);
}

function wantedRecord(
  { domainId, domain, cnameTarget }: Job,
  services: Api['platform']['serviceDomains'],
): WantedRecord | undefined {
  if (domain.startsWith('*.'))
    return {
      name: `_acme-challenge.${domain.slice(2)}`,
      target: challengeName(domainId, services),
      orAddresses: false,
    };
  return cnameTarget === null ? undefined : { name: domain, target: cnameTarget, orAddresses: true };
}

const issued = z.object({ certificate_pem: z.string(), issued_at: z.string() });

async function presentCertificate(db: Executor, { certificateId }: Job): Promise<PresentCertificate | undefined> {
  if (certificateId === null) return undefined;
  const text = `select certificate_pem, issued_at from ${tlsCertificate.table} where id = $1 and issued_at is not null`;
  const [row] = await db.query({ name: 'tls_certificates.issued', text, values: [certificateId] });
  if (!row) return undefined;
  const { certificate_pem: pem, issued_at } = issued.parse(row);
  return { pem, issuedAt: new Date(issued_at), ...validityOf(pem) };
}

/** Answers challenges over DNS, if this process is to. @throws CannotStart when a setting is to blame */
export async function startChallengeDns(
  { db, platform: { serviceDomains } }: Pick<Api, 'db' | 'platform'>,
  { acmeDnsPort: port, acmeDnsHost: host, acmeNameServers: nameServers }: CertificateConfig,
  logger: FastifyBaseLogger | undefined,
): Promise<DnsServer | undefined> {
  if (port === undefined) return undefined;
  const apex = challengeZoneName(serviceDomains);
  if (nameServers === undefined)
    throw new CannotStart(`ACME_DNS_PORT needs ACME_DNS_NAMESERVERS: the names that ${apex} is delegated to`);
  const inside = nameServers.find((name) => name === apex || isBelow(name, apex));
  if (inside !== undefined)
    throw new CannotStart(`ACME_DNS_NAMESERVERS: ${inside} must lie outside of ${apex}, which has no addresses`);
  const zone = challengeZone(db, apex, nameServers);
  const onFailure = logger ? failureLog(logger) : () => undefined;
  const onError = (error: unknown) => onFailure(error, 'answer a question over DNS');
  const names = { host: 'ACME_DNS_HOST', port: 'ACME_DNS_PORT' };
  try {
    const server = await startDnsServer({ answer: (question) => answerFrom(zone, question), host, port, onError });
    logger?.info({ zone: apex, host, port: server.port }, 'answering challenges over DNS');
    return server;
  } catch (error) {
    throw cannotListen(error, { host, port, names });
  }
}

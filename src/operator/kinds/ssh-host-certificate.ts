/** `SSHHostCertificate`: a host's certificate in a Secret that sshd can mount, renewed before it expires. */
import { z } from 'zod';
import type { View } from '../../resources/definition/resource.ts';
import { sshHostCertificate } from '../../resources/ssh-host-certificate.ts';
import type { Remote } from '../managed/declaration/external.ts';
import { handout } from '../managed/declaration/handout.ts';
import type { SecretSpec } from '../managed/secrets/content.ts';
import { decideReissue, reissueTime } from '../managed/secrets/reissue.ts';
import { secretColumn, secretInStatus, secretStatus } from './one-time.ts';
import { plainKind } from './plain-kind.ts';
import { durationField, secret } from './secret-spec.ts';

type Certificate = View<typeof sshHostCertificate> & Remote;

interface CertificateSpec extends SecretSpec {
  renewBefore?: string | undefined;
  /** Of the family. */
  validUntil?: string | undefined;
}

const NO_PRINCIPALS =
  'it has no principals, and clients with OpenSSH 10.3 or later accept it for no host: list the names of the host in spec.principals';

const certificate = handout(sshHostCertificate, {
  type: 'sshCertificate',
  what: 'certificate',
  // As HostCertificate in sshd_config usually names it, next to the key.
  key: 'ssh_host_key-cert.pub',
  member: 'certificate',
  isOneTime: false,
});

const RENEWS = 'When the certificate will be renewed.';

/** When to renew; undefined if the spec has an end. */
const renewalOf = ({ renewBefore, validUntil }: CertificateSpec, { created_at, valid_until }: Certificate) =>
  validUntil === undefined ? reissueTime({ from: created_at, until: valid_until }, renewBefore) : undefined;

type Issued = z.output<typeof sshHostCertificate.view>;

/** Which times of the certificate are the defaults: valid from the moment of issue, for a year. */
function defaultTimes({ created_at, valid_after, valid_until }: Issued): string[] {
  const [created, from, until] = [created_at, valid_after, valid_until].map((time) => Date.parse(time)) as Times;
  const yearLater = new Date(Math.max(created, from));
  yearLater.setUTCFullYear(yearLater.getUTCFullYear() + 1);
  if (!isAbout(until, yearLater.getTime())) return [];
  return isAbout(created, from) ? ['validAfter', 'validUntil'] : ['validUntil'];
}
type Times = [created: number, from: number, until: number];

/** Certificates count whole seconds, and are signed shortly before they are stored. */
const isAbout = (a: number, b: number) => Math.abs(a - b) <= 60_000;

/** Whether it is due for renewal, so that only an end in the spec would keep it. */
const isOnlyKeptByItsEnd = (issued: Issued, now: Date) =>
  defaultTimes(issued).includes('validUntil') &&
  reissueTime({ from: issued.created_at, until: issued.valid_until }, undefined) <= now;

function chosenByService(issued: Issued, now: Date): string[] {
  const chosen = defaultTimes(issued);
  return isOnlyKeptByItsEnd(issued, now) ? chosen.filter((name) => name !== 'validUntil') : chosen;
}

function remarks(issued: Issued, now: Date): string[] {
  if (!isOnlyKeptByItsEnd(issued, now)) return [];
  return [
    `The certificate ends at ${issued.valid_until}, and is due to be issued anew. spec.validUntil keeps it as it is, and no other is issued: remove that to have another certificate issued now, and before each end.`,
  ];
}

export const sshHostCertificateKind = plainKind(sshHostCertificate, {
  kind: 'SSHHostCertificate',
  shortNames: ['sshcert'],
  description: 'A certificate that identifies a host to SSH clients that trust its authority. It is kept in a Secret.',
  calls: (client) => client.sshHostCertificates,
  chosenByService,
  remarks,
  // It belongs in the Secret.
  omit: ['certificate'],
  about: {
    valid_until:
      'When the certificate expires. Without it, the certificate is valid for a year and renewed before it expires.',
  },
  sources: ['public_key'],
  replaced: ['public_key', 'ssh_certificate_authority_id', 'principals', 'valid_after', 'valid_until'],
  spec: {
    secret: secret(certificate),
    renewBefore: durationField(
      'How long before it expires the certificate is renewed, at most a third of its lifetime. Not used with validUntil. Defaults to 720h.',
    ).optional(),
  },
  status: {
    ...secretStatus(certificate),
    validUntil: z.string().optional().meta({ description: 'When the certificate expires.' }),
    renewsAt: z.string().optional().meta({ description: RENEWS }),
  },
  columns: [
    secretColumn(certificate),
    {
      name: 'Valid until',
      type: 'string',
      jsonPath: '.status.validUntil',
      description: 'When the certificate expires.',
    },
    { name: 'Renews', type: 'string', jsonPath: '.status.renewsAt', description: RENEWS, priority: 1 },
  ],
  wideColumns: ['principals', 'ssh_certificate_authority_id'],
  describe: (declared, observed: Certificate, object) => {
    const secretName = secretInStatus(certificate, declared, observed, object);
    const renewsAt = secretName === undefined ? undefined : renewalOf(declared, observed);
    return { secretName, validUntil: observed.valid_until, renewsAt: renewsAt?.toISOString() };
  },
  // Renewed before it expires, unless the spec has an end.
  end: {
    of: (issued: Certificate) => issued.valid_until,
    remedy: 'set spec.validUntil to a later time, or remove it to have another certificate issued before each end',
  },
  readyRemarks: ({ principals }) => (principals.length > 0 ? [] : [NO_PRINCIPALS]),
  delivery: {
    handout: certificate,
    renewal: (object, spec: CertificateSpec, remote: Certificate, now) => {
      const term = { at: renewalOf(spec, remote), until: remote.valid_until };
      return decideReissue(object, certificate.what, term, now);
    },
  },
});

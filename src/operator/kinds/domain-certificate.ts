/** The certificate of a reserved domain: whether it is for the domain, and valid. */
import type { Client } from '../../client/client.ts';
import type { View } from '../../resources/definition/resource.ts';
import { isCovered, notCovered } from '../../resources/formats/covered-names.ts';
import { canonicalDomain } from '../../resources/formats/domain-name.ts';
import type { reservedDomain } from '../../resources/reserved-domain.ts';
import type { tlsCertificate } from '../../resources/tls-certificate.ts';
import { REASON } from '../contract/reasons.ts';
import { Blocked, type External, type Finding, type Remote } from '../managed/declaration/external.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import { certificateRemarks, endingFirst, endOfChain } from './certificate-remarks.ts';
import { ifExists } from './external-of-family.ts';

type Certificate = View<typeof tlsCertificate>;
type Domain = View<typeof reservedDomain> & Remote;

/** What matters of a certificate. None of it ever changes. */
export type CertificateFacts = Pick<
  Certificate,
  'id' | 'subject_alternative_names' | 'not_before' | 'not_after' | 'chain_not_after' | 'extended_key_usages'
>;

/** `attached`: undefined if the domain has no certificate, or the API key may not see it. */
export type DomainWithCertificate = Domain & { attached?: CertificateFacts | undefined };

/** So many certificates are read one by one; if more are unknown, as after a start, they are listed. */
const MOST_READ = 10;

/** Certificates by id. */
class Certificates {
  readonly #client: Pick<Client, 'tlsCertificates'>;
  #known = new Map<string, CertificateFacts>();

  constructor(client: Pick<Client, 'tlsCertificates'>) {
    this.#client = client;
  }

  /** Undefined if it does not exist, or the API key may not see it. */
  async get(id: string): Promise<CertificateFacts | undefined> {
    const known = this.#known.get(id);
    if (known) return known;
    const found = await ifExists(this.#client.tlsCertificates.get(id));
    if (found) this.#learn(found);
    return found;
  }

  /** The same for all certificates in use; forgets others. */
  async all(ids: ReadonlySet<string>): Promise<ReadonlyMap<string, CertificateFacts>> {
    const unknown = [...ids].filter((id) => !this.#known.has(id));
    if (unknown.length <= MOST_READ) for (const id of unknown) await this.get(id);
    else {
      const wanted = new Set(unknown);
      for await (const certificate of this.#client.tlsCertificates.list())
        if (wanted.has(certificate.id)) this.#learn(certificate);
    }
    this.#known = new Map([...this.#known].filter(([id]) => ids.has(id)));
    return this.#known;
  }

  #learn({ id, subject_alternative_names, not_before, not_after, chain_not_after, extended_key_usages }: Certificate) {
    const facts = { id, subject_alternative_names, not_before, not_after, chain_not_after, extended_key_usages };
    this.#known.set(id, facts);
  }
}

/** What the spec of a domain may say about its certificate, with references resolved. */
interface CertifiedSpec extends ManagedSpec {
  domain?: string;
  certificateRef?: string;
}

/** The verbs of a domain, which also read its certificate. */
export function withCertificate<Spec extends ManagedSpec>(
  plain: External<Spec, Domain>,
  client: Pick<Client, 'tlsCertificates'>,
): External<Spec, DomainWithCertificate> {
  const certificates = new Certificates(client);
  const attach = async (domain: Domain): Promise<DomainWithCertificate> =>
    domain.certificate ? { ...domain, attached: await certificates.get(domain.certificate.id) } : domain;
  /** The API refuses it as well, but only this error is also shown in the condition CertificateReady. */
  const requireCovered = async ({ domain, certificateRef: id }: CertifiedSpec) => {
    const facts = id === undefined ? undefined : await certificates.get(id);
    const name = canonicalDomain(domain ?? '');
    if (!facts || 'reason' in name) return;
    const mismatch = mismatchOf(name.domain, facts);
    if (mismatch !== undefined) throw new Blocked(REASON.nameMismatch, `spec.certificateRef: ${mismatch}`);
  };
  return {
    ...plain,
    async observe(id) {
      const domain = await plain.observe(id);
      return domain && attach(domain);
    },
    async create(spec, options) {
      await requireCovered(spec);
      return attach(await plain.create(spec, options));
    },
    async update(domain, spec, options) {
      if (plain.changes(spec, domain).includes('certificateRef')) await requireCovered(spec);
      return attach(await plain.update(domain, spec, options));
    },
    async *all(wanted) {
      const domains: Domain[] = [];
      for await (const domain of plain.all(wanted)) if (wanted?.has(domain.id) ?? true) domains.push(domain);
      const known = await certificates.all(new Set(domains.flatMap(({ certificate }) => certificate?.id ?? [])));
      for (const domain of domains) yield { ...domain, attached: known.get(domain.certificate?.id ?? '') };
    },
  };
}

/** Undefined if the certificate is for the domain. */
function mismatchOf(domain: string, { id, subject_alternative_names: { dns_names } }: CertificateFacts) {
  return isCovered(domain, dns_names) ? undefined : `the certificate ${id} ${notCovered(domain, dns_names)}`;
}

/** What CertificateReady says of a domain with a certificate. */
export function certificateFinding({ domain, certificate, attached }: DomainWithCertificate, now: Date): Finding {
  if (!attached && certificate) {
    const message = `The API key of the operator may not see the certificate ${certificate.id}`;
    return { status: 'Unknown', reason: REASON.notChecked, message };
  }
  if (!attached) return { status: 'True', reason: REASON.issued, message: 'In use' };
  const mismatch = mismatchOf(domain, attached);
  if (mismatch !== undefined) return { status: 'False', reason: REASON.nameMismatch, message: mismatch };
  const { id, not_before } = attached;
  const end = endOfChain(attached);
  if (new Date(end) <= now) {
    const what = endingFirst(attached, `the certificate ${id}`);
    return { status: 'False', reason: REASON.expired, message: `${what} expired at ${end}; renew it` };
  }
  if (new Date(not_before) > now) {
    const message = `the certificate ${id} is not valid before ${not_before}`;
    return { status: 'False', reason: REASON.notYetValid, message };
  }
  const message = [`In use until ${end}`, ...certificateRemarks(attached)].join('; ');
  return { status: 'True', reason: REASON.issued, message };
}

/** When the finding changes by itself. */
export function certificateChangesAt({ attached }: DomainWithCertificate, now: Date): Date[] {
  if (!attached) return [];
  return [attached.not_before, endOfChain(attached)].map((time) => new Date(time)).filter((time) => time > now);
}

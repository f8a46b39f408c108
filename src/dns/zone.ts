/** One zone of TXT records, and what it answers to a question. */
import type { Answer as DnsRecord, Question, StringAnswer } from 'dns-packet';

export interface Zone {
  /** The name of the zone: lower case, without a final dot. */
  readonly apex: string;
  /** Host names of its name servers, which are outside the zone: it has no addresses. */
  readonly nameServers: readonly [string, ...string[]];
  /**
   * The TXT records at a name below the apex, in lower case; undefined if the name does not exist. A name that others are
   * below exists.
   */
  texts(name: string): Promise<readonly string[] | undefined>;
}

export type ResponseCode = 'NOERROR' | 'NXDOMAIN' | 'REFUSED';

export interface Found {
  code: ResponseCode;
  /** Whether the zone is the authority for the name. */
  authoritative: boolean;
  answers: DnsRecord[];
  authorities: DnsRecord[];
}

/** How long resolvers keep a text, in seconds: another challenge replaces it, and is looked up at once. */
const TTL = 1;
/** How long resolvers remember that something does not exist (RFC 2308), in seconds. */
const NEGATIVE_TTL = 1;
/** How long resolvers keep the records of the zone itself, in seconds. */
const APEX_TTL = 300;

/** Answers one question of class IN or ANY. @throws what `texts` throws */
export async function answerFrom(zone: Zone, { name, type: asked }: Question): Promise<Found> {
  const wanted = name.toLowerCase();
  // The library reads more types than its declarations list.
  const type: string = asked;
  // AXFR and IXFR: the zone is not for copying.
  if (!isIn(zone, wanted) || type === 'AXFR' || type === 'IXFR')
    return { code: 'REFUSED', authoritative: false, answers: [], authorities: [] };
  const records = wanted === zone.apex ? apexRecords(zone, name) : textRecords(name, await zone.texts(wanted));
  if (!records) return { code: 'NXDOMAIN', authoritative: true, answers: [], authorities: [soa(zone, NEGATIVE_TTL)] };
  const answers = type === 'ANY' ? [minimalAny(name)] : records.filter((record) => record.type === type);
  const authorities = answers.length > 0 ? [] : [soa(zone, NEGATIVE_TTL)];
  return { code: 'NOERROR', authoritative: true, answers, authorities };
}

const isIn = ({ apex }: Zone, name: string) => name === apex || name.endsWith(`.${apex}`);

/** Owner names are spelt as they were asked for: resolvers compare them bit by bit (draft-vixie-dnsext-dns0x20). */
function apexRecords(zone: Zone, name: string): DnsRecord[] {
  const servers: StringAnswer[] = zone.nameServers.map((data) => ({ name, type: 'NS', ttl: APEX_TTL, data }));
  return [{ ...soa(zone, APEX_TTL), name }, ...servers];
}

const textRecords = (name: string, texts: readonly string[] | undefined): DnsRecord[] | undefined =>
  texts?.map((data) => ({ name, type: 'TXT', ttl: TTL, data }));

/** Instead of all records there are (RFC 8482, section 4.2). */
const minimalAny = (name: string): DnsRecord => ({
  ...{ name, type: 'HINFO', ttl: APEX_TTL },
  data: { cpu: 'RFC8482', os: '' },
});

/** No secondary copies the zone, so the serial number and its times have no meaning. */
const soa = ({ apex, nameServers }: Zone, ttl: number): DnsRecord => ({
  ...{ name: apex, type: 'SOA', ttl },
  data: {
    ...{ mname: nameServers[0], rname: `hostmaster.${apex}`, serial: 1 },
    ...{ refresh: 3600, retry: 600, expire: 86_400, minimum: NEGATIVE_TTL },
  },
});

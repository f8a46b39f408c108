/** A user's DNS provider: a zone whose records tests can change. */
import type { Answer as DnsRecord } from 'dns-packet';
import type { Answer } from '../../src/dns/respond.ts';
import { startDnsServer } from '../../src/dns/server.ts';

export interface UserZone {
  readonly apex: string;
  readonly port: number;
  /** Sets the only record of a name, which may begin with `*.`; undefined removes it. */
  set(name: string, record: { type: 'A' | 'CNAME'; data: string } | undefined): void;
  stop(): Promise<void>;
}

const TTL = 0;

export async function startUserZone(apex: string): Promise<UserZone> {
  const records = new Map<string, { type: 'A' | 'CNAME'; data: string }>();
  const soa: DnsRecord = {
    ...{ name: apex, type: 'SOA', ttl: TTL },
    data: {
      ...{ mname: 'ns.example.net', rname: `hostmaster.${apex}`, serial: 1 },
      ...{ refresh: 3600, retry: 600, expire: 86_400, minimum: 0 },
    },
  };
  const answer: Answer = async ({ name, type }) => {
    const wanted = name.toLowerCase();
    const found = recordAt(records, wanted);
    const isAsked = found && (found.type === type || found.type === 'CNAME');
    const answers = isAsked ? [{ ...found, name, ttl: TTL }] : wanted === apex && type === 'SOA' ? [soa] : [];
    const exists = found !== undefined || [apex, ...records.keys()].some((each) => isAtOrBelow(each, wanted));
    const authorities = answers.length > 0 ? [] : [soa];
    return { code: exists ? 'NOERROR' : 'NXDOMAIN', authoritative: true, answers, authorities };
  };
  const { port, stop } = await startDnsServer({ answer, host: '127.0.0.1', port: 0, queriesPerSecond: 10_000 });
  return {
    apex,
    port,
    set(name, record) {
      if (record) records.set(name, record);
      else records.delete(name);
    },
    stop,
  };
}

const recordAt = <R>(records: ReadonlyMap<string, R>, name: string) =>
  records.get(name) ?? records.get(name.replace(/^[^.]+/, '*'));

const isAtOrBelow = (name: string, other: string) => name === other || name.endsWith(`.${other}`);

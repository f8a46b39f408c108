/**
 * Keeps requests to URLs that a user has given from addresses that only this program can reach: a URL must not make it call
 * the machines around it (server-side request forgery).
 */
import { type BlockList, isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import type { ResolveHost } from './host-lookup.ts';
import { networkList } from './network-list.ts';

/** Link-local networks and the other addresses at which clouds hand out the credentials of a machine. */
const METADATA = networkList([
  ...['169.254.0.0/16', 'fe80::/10'],
  // Alibaba Cloud, Oracle Cloud, Azure.
  ...['100.100.100.200', '192.0.0.192', '168.63.129.16'],
  // AWS (its metadata and EKS Pod Identity), Google Cloud, Scaleway.
  ...['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:42::42'],
]);

/** Has an IPv4 address in its last four bytes (RFC 6052): how IPv6-only clusters reach the IPv4 internet. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** What is assigned for public use (RFC 4291, section 2.4). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Thrown instead of calling an address that is not allowed. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

/** What may be called besides public addresses by https. */
export interface Allowances {
  /** Addresses and networks that are not public. */
  readonly networks: readonly string[];
  /** Hosts to call by plain http, as `URL` writes them. */
  readonly httpHosts: readonly string[];
  /** The settings that these come from, for messages. */
  readonly settings: { readonly networks: string; readonly httpHosts: string };
}

export interface AddressGuard {
  /** What is wrong with the URL, as a sentence that begins with "must"; looks up no host name. */
  refusalOfUrl(url: URL): string | undefined;
  /** Why the address is not called; undefined if it may be. */
  refusalOf(address: string): ForbiddenAddress | undefined;
  /** A connector of undici that checks addresses as they are written, as they are looked up, and as they are connected. */
  connector(options: { resolve: ResolveHost; timeoutMs: number; ca?: string[] }): buildConnector.connector;
}

/** @param build makes the connector underneath */
export function createAddressGuard(
  { networks, httpHosts, settings }: Allowances,
  build = buildConnector,
): AddressGuard {
  const allowed = networkList(networks);
  const refusalOf = (text: string) => {
    const address = canonical(text);
    if (includes(METADATA, address)) return new ForbiddenAddress(`${text} belongs to the machine itself: never called`);
    if (isPublic(address) || includes(allowed, address)) return undefined;
    return new ForbiddenAddress(`${text} is not a public address, nor one that ${settings.networks} allows`);
  };

  const checkedLookup =
    (resolve: ResolveHost): LookupFunction =>
    (hostname, options, callback) => {
      const fail = (error: NodeJS.ErrnoException) => callback(error, []);
      resolve(hostname).then((found) => {
        const [first] = found;
        const refusal = found.map(({ address }) => refusalOf(address)).find(Boolean);
        if (refusal || !first) fail(refusal ?? new Error(`${hostname} has no address`));
        else if (options.all) callback(null, [...found]);
        else callback(null, first.address, first.family);
      }, fail);
    };

  return {
    refusalOf,
    refusalOfUrl({ protocol, hostname }) {
      if (protocol === 'http:' && !httpHosts.includes(hostname))
        return `must be an https URL, since ${settings.httpHosts} does not list its host`;
      const address = hostname.replace(/^\[|\]$/g, '');
      if (!isIP(address) || !refusalOf(address)) return undefined;
      return `must have a public address, or one that ${settings.networks} allows`;
    },
    connector({ resolve, timeoutMs, ca }) {
      const lookup = checkedLookup(resolve);
      const connect = build({ lookup, timeout: timeoutMs, allowH2: false, ...(ca && { ca }) });
      return (options, callback) => {
        // Node.js does not call `lookup` for a literal address.
        const literal = isIP(options.hostname) ? refusalOf(options.hostname) : undefined;
        if (literal) return callback(literal, null);
        connect(options, (error, socket) => {
          if (error) return callback(error, null);
          const { remoteAddress } = socket;
          const refusal =
            remoteAddress === undefined ? new Error('the connection was closed') : refusalOf(remoteAddress);
          if (!refusal) return callback(null, socket);
          socket.destroy();
          callback(refusal, null);
        });
      };
    },
  };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** IPv6 without its zone, or the IPv4 address that it stands for. */
function canonical(text: string): Address {
  const address = ipaddr.process(text.replace(/%.*$/, ''));
  const isTranslated = address instanceof ipaddr.IPv6 && address.match(NAT64);
  return isTranslated ? ipaddr.fromByteArray(address.toByteArray().slice(12)) : address;
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  // ipaddr.js knows ranges with a purpose, and takes unassigned ones for unicast.
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_IPV6);
}

const includes = (list: BlockList, address: Address) => list.check(address.toString(), address.kind());

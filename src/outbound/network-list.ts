/** Addresses and networks, as settings name them. */
import { BlockList } from 'node:net';
import ipaddr from 'ipaddr.js';

/** @param networks valid IP addresses and CIDR blocks */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, prefix] = ipaddr.isValidCIDR(network)
      ? ipaddr.parseCIDR(network)
      : [ipaddr.parse(network), undefined];
    if (prefix === undefined) list.addAddress(address.toString(), address.kind());
    else list.addSubnet(address.toString(), prefix, address.kind());
  }
  return list;
}

/** What `src/resources/formats/cidr.ts` takes for a block, as the API server can check it. */
import type { CelRule } from '../../managed/cel.ts';

/**
 * The CEL functions refuse IPv4 in IPv6 (::ffff:192.0.2.0/120), which the API takes. Another group in its place changes
 * neither whether it is an address nor, its last bit being set too, which prefix lengths leave bits behind.
 */
const TEXT = "self.lowerAscii().replace('ffff', 'fff1')";

export const cidrRules: readonly CelRule[] = [
  {
    rule: `isCIDR(${TEXT}) || isIP(${TEXT})`,
    message: 'cidr must be a CIDR block like 10.0.0.0/8 or 2001:db8::/32, or one address',
  },
  {
    rule: `!isCIDR(${TEXT}) || cidr(${TEXT}).masked() == cidr(${TEXT})`,
    message: 'cidr has bits set beyond its prefix length; write the network address, as in 10.0.0.0/8',
  },
];

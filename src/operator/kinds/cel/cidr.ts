/** The blocks that `src/resources/formats/cidr.ts` accepts, in CEL, for the API server to check. */
import type { CelRule } from '../../managed/declaration/cel.ts';

/**
 * The CEL functions reject IPv4-mapped IPv6 (::ffff:192.0.2.0/120), which the API accepts. Replacing ffff by another
 * group does not change whether the text is an address nor, as the last bit stays set, which prefix lengths leave bits
 * beyond them.
 */
const TEXT = "self.lowerAscii().replace('ffff', 'fff1')";

export const cidrRules: readonly CelRule[] = [
  {
    rule: `isCIDR(${TEXT}) || isIP(${TEXT})`,
    message: 'cidr must be a CIDR block such as 10.0.0.0/8 or 2001:db8::/32, or a single address',
  },
  {
    rule: `!isCIDR(${TEXT}) || cidr(${TEXT}).masked() == cidr(${TEXT})`,
    message: 'cidr has bits set beyond its prefix length; write the network address, as in 10.0.0.0/8',
  },
];

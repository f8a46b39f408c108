/** Settings of automatic certificates: the authority, and how its challenges are answered. */
import { X509Certificate } from 'node:crypto';
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { canonicalDomain } from '../resources/formats/domain-name.ts';
import { onOff, wholeNumber } from '../settings/schemas.ts';
import type { Settings } from '../settings/settings.ts';

const list = z.string().transform((text) => text.split(',').map((part) => part.trim()));

const directoryUrl = z.url({
  protocol: /^https$/,
  error: 'must be an https URL, as in https://acme-v02.api.letsencrypt.org/directory',
});

const contacts = list
  .refine(
    (all) => all.every((each) => /^[^\s@:,<>]+@[^\s@:,<>]+$/.test(each)),
    'must be comma-separated mail addresses, without mailto:',
  )
  .transform((all) => all.map((each) => `mailto:${each}`));

/** An address, or an address and a port. */
const isResolver = (text: string) => {
  const [, v6 = '', v4 = '', port = ''] = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+)):(\d{1,5})$/i.exec(text) ?? [];
  if (port === '') return isIP(text.replace(/^\[(.+)\]$/, '$1')) > 0;
  return (isIPv6(v6) || isIPv4(v4)) && Number(port) >= 1 && Number(port) <= 65_535;
};

/** Undefined if all of them can be read. */
function certificatesProblem(pem: string): string | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return 'must be certificates in PEM';
  const bad = blocks.findIndex((block) => {
    try {
      return !new X509Certificate(block);
    } catch {
      return true;
    }
  });
  return bad === -1 ? undefined : `has a certificate that cannot be read: number ${bad + 1}`;
}

const resolvers = list.refine(
  (all) => all.every(isResolver),
  'must be comma-separated addresses, each with or without a port, as in 10.0.0.10,[2001:db8::1]:5353',
);

const nameServers = list
  .refine(
    (names) => names.every((name) => 'domain' in canonicalDomain(name) && !name.startsWith('*.')),
    'must be comma-separated host names, as in ns1.example.com,ns2.example.com',
  )
  .transform(([first = '', ...others]): [string, ...string[]] => [
    first.toLowerCase(),
    ...others.map((name) => name.toLowerCase()),
  ]);

export const certificateSettings = {
  certificateIssuance: {
    env: 'CERTIFICATE_ISSUANCE',
    flag: '--certificate-issuance <true|false>',
    description: 'issue automatic certificates in this process; false if other processes on the same database do',
    default: 'true',
    schema: onOff,
  },
  acmeDirectoryUrl: {
    env: 'ACME_DIRECTORY_URL',
    flag: '--acme-directory-url <url>',
    description:
      'directory of the certificate authority that issues automatic certificates, by ACME; its terms of service are agreed to; if unset, none are issued',
    schema: directoryUrl.optional(),
  },
  acmeContacts: {
    env: 'ACME_CONTACT',
    flag: '--acme-contact <addresses>',
    description: 'mail addresses, comma-separated, that the authority may write to',
    schema: contacts.optional(),
  },
  acmeExternalKeyId: {
    env: 'ACME_EXTERNAL_KEY_ID',
    flag: '--acme-external-key-id <id>',
    description: 'id of the external account, for authorities that require one',
    schema: z.string().min(1, 'must not be empty').optional(),
  },
  acmeExternalHmacKey: {
    env: 'ACME_EXTERNAL_HMAC_KEY',
    description: 'key of the external account, in base64url as the authority gives it',
    secret: true,
    schema: z
      .string()
      .regex(/^[\w-]{16,}=*$/, 'must be base64url: letters, digits, - and _')
      .optional(),
  },
  acmeProfile: {
    env: 'ACME_PROFILE',
    flag: '--acme-profile <name>',
    description: 'the kind of certificate, for authorities that have several, such as tlsserver or shortlived',
    schema: z.string().min(1, 'must not be empty').optional(),
  },
  acmeTrustedCertificates: {
    env: 'ACME_TRUSTED_CERTIFICATES',
    description: "certificates in PEM that the authority's own server may be verified with, for private authorities",
    schema: z
      .string()
      .superRefine((pem, context) => {
        const message = certificatesProblem(pem);
        if (message !== undefined) context.addIssue({ code: 'custom', message });
      })
      .optional(),
  },
  acmeSelfCheck: {
    env: 'ACME_SELF_CHECK',
    flag: '--acme-self-check <true|false>',
    description: 'look up the DNS records of a domain before a certificate is ordered',
    default: 'true',
    schema: onOff,
  },
  acmeResolvers: {
    env: 'ACME_RESOLVERS',
    flag: '--acme-resolvers <addresses>',
    description: 'DNS resolvers for that, comma-separated, each with or without a port; default: those of this machine',
    schema: resolvers.optional(),
  },
  acmeNameServers: {
    env: 'ACME_DNS_NAMESERVERS',
    flag: '--acme-dns-nameservers <names>',
    description:
      'host names, comma-separated, of the name servers that the zone acme.<first service domain> is delegated to: processes with ACME_DNS_PORT; without them, wildcards get no certificates',
    schema: nameServers.optional(),
  },
  acmeDnsPort: {
    env: 'ACME_DNS_PORT',
    flag: '--acme-dns-port <number>',
    description:
      'port, of UDP and TCP, on which this process answers for that zone; 0 picks a free one; if unset, it does not',
    schema: wholeNumber(0, 65_535).optional(),
  },
  acmeDnsHost: {
    env: 'ACME_DNS_HOST',
    flag: '--acme-dns-host <address>',
    description: 'address to listen on for that',
    default: '0.0.0.0',
    schema: z.string().refine((text) => isIP(text) > 0, 'must be an IP address'),
  },
} as const satisfies Settings;

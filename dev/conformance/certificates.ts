/** Certificates and keys that rows name as `{pem.ca}` and so on; made anew, so that none expires. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { altered, KeyUsageFlags, makeCertificate } from '../fixtures/x509.ts';

const { keyCertSign, cRLSign, digitalSignature } = KeyUsageFlags;
const ALL_USAGES = 0b1_1111_1111;
const PKIX = '1.3.6.1.5.5.7.3';
const CLIENT_AUTH = `${PKIX}.2`;

export async function certificates() {
  return { ...(await authorities()), ...(await servers()) };
}

async function authorities() {
  const [ca, bare, old, future, allUsages, purposes, noSigning, short] = await Promise.all([
    makeCertificate({ subject: 'CN=Device CA', usages: keyCertSign | cRLSign, purposes: [CLIENT_AUTH] }),
    makeCertificate({ subject: 'O=No common name' }),
    makeCertificate({ notBefore: new Date('2001-02-03T04:05:06Z'), notAfter: new Date('2002-03-04T05:06:07Z') }),
    makeCertificate({ notBefore: new Date('2101-02-03T04:05:06Z'), notAfter: new Date('2102-03-04T05:06:07Z') }),
    makeCertificate({ usages: ALL_USAGES }),
    makeCertificate({
      purposes: ['2.5.29.37.0', ...[1, 2, 3, 4, 8, 9].map((last) => `${PKIX}.${last}`), '1.3.6.1.4.1.311.20.2.2'],
    }),
    makeCertificate({ usages: digitalSignature }),
    makeCertificate({ algorithm: 'rsa1024' }),
  ]);
  const notAfter = new Date('2099-12-31T23:59:59Z');
  const [intermediate, dated, self] = await Promise.all([
    makeCertificate({ subject: 'CN=Below the device CA', issuer: ca }),
    makeCertificate({ subject: 'CN=Dated', issuer: ca, notAfter }),
    makeCertificate({ notAfter }),
  ]);
  const withTail = Buffer.concat([Buffer.from(ca.certificate.rawData), Buffer.from([0])]);
  return {
    ca: ca.pem,
    ca_key: ca.keyPem,
    ca_at_limit: ca.pem.padEnd(32_768),
    ca_without_name: bare.pem,
    ca_expired: old.pem,
    ca_of_the_future: future.pem,
    ca_with_all_usages: allUsages.pem,
    ca_with_all_purposes: purposes.pem,
    ca_without_signing: noSigning.pem,
    ca_with_short_key: short.pem,
    ca_with_tail: `-----BEGIN CERTIFICATE-----\n${withTail.toString('base64')}\n-----END CERTIFICATE-----\n`,
    intermediate_ca: intermediate.pem,
    ca_in_one_line: ca.pem.replaceAll('\n', ''),
    ca_in_three_lines: ca.pem.replaceAll(/(?<=[A-Za-z0-9+/=])\n(?=[A-Za-z0-9+/=])/g, ''),
    ca_until_february_30: altered(dated, '20991231235959Z', '20990230000000Z'),
    ca_until_the_year_1: altered(dated, '20991231235959Z', '00010101000000Z'),
    ca_with_wrong_signature: altered(self, '20991231235959Z', '20981231235959Z'),
  };
}

async function servers() {
  const [leaf, other, allUsages, rsa, rsa1024, ed25519, p384, p521, unnamed, root] = await Promise.all([
    makeCertificate({
      subject: 'CN=app.example.com',
      ca: false,
      usages: digitalSignature,
      purposes: [`${PKIX}.1`],
      names: [
        { type: 'dns', value: 'app.example.com' },
        { type: 'dns', value: '*.app.example.com' },
        { type: 'ip', value: '192.0.2.1' },
      ],
      serialNumber: '04D2F1A09B3C',
      notBefore: new Date('2001-02-03T04:05:06Z'),
      notAfter: new Date('2002-03-04T05:06:07Z'),
    }),
    makeCertificate({ subject: 'CN=other.example.com', ca: false }),
    makeCertificate({ subject: 'CN=all.example.com', ca: false, usages: ALL_USAGES }),
    makeCertificate({ subject: 'CN=rsa.example.com', ca: false, algorithm: 'rsa' }),
    makeCertificate({ subject: 'CN=short.example.com', ca: false, algorithm: 'rsa1024' }),
    makeCertificate({ subject: 'CN=ed25519.example.com', ca: false, algorithm: 'ed25519' }),
    makeCertificate({ subject: 'CN=p384.example.com', ca: false, algorithm: 'p384' }),
    makeCertificate({ subject: 'CN=p521.example.com', ca: false, algorithm: 'p521' }),
    makeCertificate({ subject: 'O=No common name', ca: false }),
    makeCertificate({ subject: 'CN=Root' }),
  ]);
  const intermediate = await makeCertificate({ subject: 'CN=Intermediate', issuer: root });
  const below = await makeCertificate({ subject: 'CN=below.example.com', ca: false, issuer: intermediate });
  const misled = await makeCertificate({ subject: 'CN=misled.example.com', ca: false, issuer: other });
  const leafKey = createPrivateKey(leaf.keyPem);
  const passphrase = { cipher: 'aes-256-cbc', passphrase: 'secret' };
  return {
    leaf: leaf.pem,
    leaf_key: leaf.keyPem,
    leaf_key_sec1: String(leafKey.export({ type: 'sec1', format: 'pem' })),
    leaf_key_encrypted: String(leafKey.export({ type: 'pkcs8', format: 'pem', ...passphrase })),
    leaf_at_limit: leaf.pem.padEnd(65_536),
    leaf_key_at_limit: leaf.keyPem.padEnd(16_384),
    other_key: other.keyPem,
    leaf_with_all_usages: allUsages.pem,
    leaf_with_all_usages_key: allUsages.keyPem,
    rsa: rsa.pem,
    rsa_key: rsa.keyPem,
    rsa_key_pkcs1: String(createPrivateKey(rsa.keyPem).export({ type: 'pkcs1', format: 'pem' })),
    short_rsa: rsa1024.pem,
    short_rsa_key: rsa1024.keyPem,
    ed25519: ed25519.pem,
    ed25519_key: ed25519.keyPem,
    p384: p384.pem,
    p384_key: p384.keyPem,
    p521: p521.pem,
    p521_key: p521.keyPem,
    secp256k1_key: privatePem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })),
    ed448_key: privatePem(generateKeyPairSync('ed448')),
    leaf_without_name: unnamed.pem,
    leaf_without_name_key: unnamed.keyPem,
    chain: below.pem + intermediate.pem,
    chain_with_root: below.pem + intermediate.pem + root.pem,
    chain_in_wrong_order: intermediate.pem + below.pem,
    chain_with_gap: below.pem + root.pem,
    chain_of_ten: below.pem + intermediate.pem + root.pem.repeat(8),
    chain_of_eleven: below.pem + intermediate.pem + root.pem.repeat(9),
    chain_by_no_authority: misled.pem + other.pem,
    chain_by_no_authority_key: misled.keyPem,
    chain_key: below.keyPem,
    intermediate_key: intermediate.keyPem,
  };
}

const privatePem = ({ privateKey }: { privateKey: KeyObject }) =>
  String(privateKey.export({ type: 'pkcs8', format: 'pem' }));

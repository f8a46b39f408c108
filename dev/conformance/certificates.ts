/** Certificates and keys that rows name as `{pem.ca}` and so on; generated on each run, so that none expires. */
import { createPrivateKey } from 'node:crypto';
import { KeyUsageFlags, makeCertificate } from '../fixtures/x509.ts';

const { keyCertSign, cRLSign, digitalSignature } = KeyUsageFlags;
const ALL_USAGES = 0b1_1111_1111;
const PKIX = '1.3.6.1.5.5.7.3';
const PAST = { notBefore: new Date('2001-02-03T04:05:06Z'), notAfter: new Date('2002-03-04T05:06:07Z') };

/** What `openssl pkcs12` writes before each block. */
const ATTRIBUTES = 'Bag Attributes\n    localKeyID: 1B DA 7F E6 \n';

export async function certificates() {
  return { ...(await authorities()), ...(await servers()) };
}

async function authorities() {
  const [ca, old, allUsages, purposes] = await Promise.all([
    makeCertificate({ subject: 'CN=Device CA', usages: keyCertSign | cRLSign, purposes: [`${PKIX}.2`] }),
    makeCertificate(PAST),
    makeCertificate({ usages: ALL_USAGES }),
    makeCertificate({
      purposes: ['2.5.29.37.0', ...[1, 2, 3, 4, 8, 9].map((last) => `${PKIX}.${last}`), '1.3.6.1.4.1.311.20.2.2'],
    }),
  ]);
  const intermediate = await makeCertificate({ subject: 'CN=Below the device CA', issuer: ca });
  return {
    ca: ca.pem,
    ca_at_limit: ca.pem.padEnd(32_768),
    ca_expired: old.pem,
    ca_with_all_usages: allUsages.pem,
    ca_with_all_purposes: purposes.pem,
    intermediate_ca: intermediate.pem,
  };
}

async function servers() {
  const [leaf, other, allUsages, rsa, ed25519, root] = await Promise.all([
    makeCertificate({
      subject: 'CN=app.example.com',
      ca: false,
      usages: digitalSignature,
      purposes: [`${PKIX}.1`],
      names: [
        { type: 'dns', value: 'app.example.com' },
        { type: 'dns', value: '*.example.com' },
        { type: 'ip', value: '192.0.2.1' },
      ],
      serialNumber: '04D2F1A09B3C',
      ...PAST,
    }),
    makeCertificate({ subject: 'CN=Old root' }),
    makeCertificate({ subject: 'CN=all.example.com', ca: false, usages: ALL_USAGES }),
    makeCertificate({ subject: 'CN=rsa.example.com', ca: false, algorithm: 'rsa' }),
    makeCertificate({ subject: 'CN=ed25519.example.com', ca: false, algorithm: 'ed25519' }),
    makeCertificate({ subject: 'CN=Root' }),
  ]);
  const intermediate = await makeCertificate({ subject: 'CN=Intermediate', issuer: root });
  const below = await makeCertificate({ subject: 'CN=below.example.com', ca: false, issuer: intermediate });
  const [crossSigned, brief] = await Promise.all([
    makeCertificate({ subject: 'CN=Intermediate', issuer: other, keys: intermediate.keys }),
    makeCertificate({ subject: 'CN=Brief', issuer: root, ...PAST }),
  ]);
  const outlasting = await makeCertificate({ subject: 'CN=outlasting.example.com', ca: false, issuer: brief });
  const passphrase = { cipher: 'aes-256-cbc', passphrase: 'secret' };
  const exported = (key: string, type: 'pkcs1' | 'pkcs8', how = {}) =>
    String(createPrivateKey(key).export({ type, format: 'pem', ...how }));
  return {
    leaf: leaf.pem,
    leaf_key: leaf.keyPem,
    leaf_key_encrypted: exported(leaf.keyPem, 'pkcs8', passphrase),
    leaf_at_limit: leaf.pem.padEnd(65_536),
    leaf_key_at_limit: leaf.keyPem.padEnd(16_384),
    other_key: other.keyPem,
    leaf_with_all_usages: allUsages.pem,
    leaf_with_all_usages_key: allUsages.keyPem,
    rsa: rsa.pem,
    rsa_key: rsa.keyPem,
    rsa_key_pkcs1: exported(rsa.keyPem, 'pkcs1'),
    ed25519: ed25519.pem,
    ed25519_key: ed25519.keyPem,
    chain: below.pem + intermediate.pem,
    chain_in_wrong_order: intermediate.pem + below.pem,
    chain_cross_signed: below.pem + root.pem + crossSigned.pem + other.pem + intermediate.pem,
    chain_with_stranger: below.pem + intermediate.pem + other.pem,
    chain_outlasted: outlasting.pem + brief.pem,
    chain_outlasted_key: outlasting.keyPem,
    leaf_after_mark: `\uFEFF${leaf.pem}`,
    leaf_with_attributes: `${ATTRIBUTES}subject=CN = app.example.com\r\n\r\n${leaf.pem}`,
    leaf_key_with_attributes: `\uFEFF${ATTRIBUTES}Key Attributes: <No Attributes>\n# of app\n\n${leaf.keyPem}`,
    chain_of_ten: below.pem + intermediate.pem + root.pem.repeat(8),
    chain_of_eleven: below.pem + intermediate.pem + root.pem.repeat(9),
    chain_key: below.keyPem,
  };
}

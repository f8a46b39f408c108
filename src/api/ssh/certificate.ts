/** SSH host certificates, as OpenSSH's PROTOCOL.certkeys defines them. */
import { type KeyObject, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { CURVES, type EllipticCurve } from '../../resources/formats/ssh-public-key.ts';
import { mpint, SshReader, string, uint32, uint64 } from '../../resources/formats/ssh-wire.ts';
import { lineOf, sshPublicOf } from './keys.ts';

export interface HostCertificate {
  /** The key that is certified, in SSH's encoding. */
  subject: { algorithm: string; blob: Buffer };
  serial: bigint;
  /** Identifies the certificate in the logs of clients and servers. */
  keyId: string;
  principals: readonly string[];
  /** Seconds since 1970. At `validBefore`, the certificate is no longer valid. */
  validAfter: bigint;
  validBefore: bigint;
}

const HOST = 2;
const NONE = string('');

/** The certificate as a line of a file, signed by the authority's private key. */
export async function signHostCertificate(wanted: HostCertificate, authority: KeyObject): Promise<string> {
  const { algorithm, blob } = wanted.subject;
  const type = `${algorithm}-cert-v01@openssh.com`;
  const body = Buffer.concat([
    string(type),
    string(randomBytes(32)),
    numbersOf(blob),
    uint64(wanted.serial),
    uint32(HOST),
    string(wanted.keyId),
    string(Buffer.concat(wanted.principals.map((principal) => string(principal)))),
    uint64(wanted.validAfter),
    uint64(wanted.validBefore),
    // Critical options, extensions and the reserved field: host certificates have none.
    NONE,
    NONE,
    NONE,
    string(sshPublicOf(authority).blob),
  ]);
  return lineOf(type, Buffer.concat([body, string(await signature(body, authority))]));
}

/** The numbers of a key, which follow its algorithm. A certificate repeats them after its nonce. */
function numbersOf(blob: Buffer): Buffer {
  const algorithm = new SshReader(blob).string();
  return blob.subarray(4 + algorithm.length);
}

// In libuv's threads: an RSA signature of 4096 bits takes milliseconds.
const signAsync = promisify(sign);

async function signature(body: Buffer, authority: KeyObject): Promise<Buffer> {
  const { algorithm, curve } = sshPublicOf(authority);
  if (curve) return Buffer.concat([string(algorithm), string(await ecdsa(body, authority, curve))]);
  // OpenSSH refuses signatures with SHA-1, which the name "ssh-rsa" stands for (RFC 8332, section 3).
  const [name, hash] = algorithm === 'ssh-rsa' ? ['rsa-sha2-512', 'sha512'] : [algorithm, undefined];
  return Buffer.concat([string(name), string(await signAsync(hash, body, authority))]);
}

/** RFC 5656, section 3.1.2: r and s, each with its own length. */
async function ecdsa(body: Buffer, key: KeyObject, curve: EllipticCurve): Promise<Buffer> {
  const { hash, bytes } = CURVES[curve];
  const both = await signAsync(hash, body, { key, dsaEncoding: 'ieee-p1363' });
  return Buffer.concat([mpint(both.subarray(0, bytes)), mpint(both.subarray(bytes))]);
}

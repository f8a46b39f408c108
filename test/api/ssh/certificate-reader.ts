/** Reads an SSH certificate and checks its signature, following OpenSSH's PROTOCOL.certkeys. Only for tests. */
import { createPublicKey, verify } from 'node:crypto';

const NUMBERS: Record<string, number> = { 'ssh-ed25519': 1, 'ssh-rsa': 2 };

export function readCertificate(line: string) {
  const [type = '', encoded = ''] = line.split(' ');
  const bytes = Buffer.from(encoded, 'base64');
  let at = 0;
  const take = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const field = () => take(take(4).readUInt32BE());

  if (field().toString() !== type) throw new Error('the type in the certificate is another one');
  const algorithm = type.replace('-cert-v01@openssh.com', '');
  const nonce = field();
  const numbers = Array.from({ length: NUMBERS[algorithm] ?? 2 }, field);
  const serial = take(8).readBigUInt64BE();
  const kind = take(4).readUInt32BE();
  const keyId = field().toString();
  const principals = strings(field()).map(String);
  const [validAfter, validBefore] = [take(8), take(8)].map((time) => Number(time.readBigUInt64BE()));
  const rest = [field(), field(), field()].map(String);
  const authority = field();
  const signed = bytes.subarray(0, at);
  const [name = Buffer.alloc(0), signature = Buffer.alloc(0)] = strings(field());
  if (at !== bytes.length) throw new Error('trailing data');
  const authorityType = String(strings(authority)[0]);
  return {
    nonce,
    serial,
    type: kind,
    keyId,
    principals,
    validAfter,
    validBefore,
    rest,
    subject: `${algorithm} ${Buffer.concat([algorithm, ...numbers].map(packed)).toString('base64')}`,
    authority: `${authorityType} ${authority.toString('base64')}`,
    signatureType: String(name),
    signatureIsValid: isValid(authority, String(name), signature, signed),
  };
}

function strings(bytes: Buffer): Buffer[] {
  const all: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    all.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return all;
}

function packed(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

const HASH: Record<string, string> = {
  'rsa-sha2-512': 'sha512',
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
};

function isValid(authority: Buffer, name: string, signature: Buffer, signed: Buffer): boolean {
  const [type, first = Buffer.alloc(0), second = Buffer.alloc(0)] = strings(authority);
  const text = (bytes: Buffer) => bytes.toString('base64url');
  if (String(type) === 'ssh-ed25519') {
    const key = { kty: 'OKP', crv: 'Ed25519', x: text(first) };
    return verify(undefined, signed, createPublicKey({ key, format: 'jwk' }), signature);
  }
  if (String(type) === 'ssh-rsa') {
    const unsigned = second.subarray(second[0] === 0 ? 1 : 0);
    const key = { kty: 'RSA', e: text(first), n: text(unsigned) };
    return verify(HASH[name], signed, createPublicKey({ key, format: 'jwk' }), signature);
  }
  const size = (second.length - 1) / 2;
  const crv = first.toString().replace('nistp', 'P-');
  const [x, y] = [second.subarray(1, 1 + size), second.subarray(1 + size)];
  const key = createPublicKey({ key: { kty: 'EC', crv, x: text(x), y: text(y) }, format: 'jwk' });
  const fixed = Buffer.concat(
    strings(signature).map((number) => {
      const unsigned = number.subarray(number[0] === 0 ? 1 : 0);
      return Buffer.concat([Buffer.alloc(size - unsigned.length), unsigned]);
    }),
  );
  return verify(HASH[name], signed, { key, dsaEncoding: 'ieee-p1363' }, fixed);
}

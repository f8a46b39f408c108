/**
 * SSH public keys as a line of an authorized_keys file has them: `<type> <base64> [comment]`, without options.
 * Formats: RFC 4253, section 6.6 (RSA), RFC 5656, section 3.1 (ECDSA), RFC 8709, section 4 (Ed25519).
 */
import { createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { MalformedSsh, SshReader } from './ssh-wire.ts';
import { pattern, text } from './text.ts';

export const sshKeyType = z.enum(['rsa', 'ecdsa', 'ed25519']);
export type SshKeyType = z.output<typeof sshKeyType>;

export const ellipticCurve = z.enum(['nistp256', 'nistp384', 'nistp521']);
export type EllipticCurve = z.output<typeof ellipticCurve>;

/** By SSH's name: Node's name, that of JSON Web Keys, the bytes of a coordinate, the hash that goes with it. */
export const CURVES = {
  nistp256: { openssl: 'prime256v1', jwk: 'P-256', bytes: 32, hash: 'sha256' },
  nistp384: { openssl: 'secp384r1', jwk: 'P-384', bytes: 48, hash: 'sha384' },
  nistp521: { openssl: 'secp521r1', jwk: 'P-521', bytes: 66, hash: 'sha512' },
} as const satisfies Record<EllipticCurve, object>;

export interface SshPublicKey {
  keyType: SshKeyType;
  /** As in the line: `ssh-rsa`, `ecdsa-sha2-nistp256`, `ssh-ed25519`. */
  algorithm: string;
  /** All of the key: the algorithm and its numbers. */
  blob: Buffer;
}

/** An RSA key of 16,384 bits takes some 2,800 characters; the rest is for the comment. */
export const MAX_PUBLIC_KEY_LENGTH = 8192;
const MIN_RSA_BITS = 2048;
/** What OpenSSH reads at most. */
const MAX_RSA_BITS = 16_384;

const ECDSA = 'ecdsa-sha2-';
const SUPPORTED = 'ssh-ed25519, ecdsa-sha2-nistp256, ecdsa-sha2-nistp384, ecdsa-sha2-nistp521 or ssh-rsa';
const CONTROL = /(?!\t)\p{Cc}/u;
const FORM = 'must be one line like "ssh-ed25519 AAAA… comment"';

/** The key of a line, or why it is refused. The reason quotes nothing from the line, which may be a private key. */
export function parseSshPublicKey(text: string): { key: SshPublicKey } | { reason: string } {
  const line = withoutSpaceAround(text);
  if (line.includes('PRIVATE KEY')) return { reason: 'is a private key; send the public one (the .pub file)' };
  if (/^(-----|---- )BEGIN/.test(line)) return { reason: `${FORM}; "ssh-keygen -i" converts other formats` };
  if (/[\r\n]/.test(line)) return { reason: `${FORM}; it has several lines` };
  // A terminal that shows the line would execute them.
  if (CONTROL.test(line)) return { reason: `${FORM}; it has control characters` };
  const [algorithm = '', encoded = ''] = line.split(/[ \t]+/);
  const unsupported = whyUnsupported(algorithm);
  if (unsupported) return { reason: unsupported };
  if (encoded === '') return { reason: `${FORM}; it has no key after its type` };
  const blob = Buffer.from(encoded, 'base64');
  if (blob.length === 0 || blob.toString('base64') !== encoded) return { reason: 'has a key that is not base64' };
  try {
    return { key: { keyType: readBlob(algorithm, blob), algorithm, blob } };
  } catch (error) {
    if (error instanceof MalformedSsh) return { reason: `has a key that ${error.message}` };
    throw error;
  }
}

function whyUnsupported(algorithm: string): string | undefined {
  if (algorithm === 'ssh-rsa' || algorithm === 'ssh-ed25519' || curveOf(algorithm)) return undefined;
  if (algorithm === 'ssh-dss') return `is a DSA key, which OpenSSH no longer supports; use ${SUPPORTED}`;
  if (algorithm.startsWith('sk-')) return 'is the key of a security token, which cannot be a host key';
  if (algorithm.includes('-cert-v01@')) return 'is a certificate; send the key that it certifies';
  return `${FORM}; its type must be ${SUPPORTED}, without options before it`;
}

function curveOf(algorithm: string): EllipticCurve | undefined {
  return algorithm.startsWith(ECDSA) ? ellipticCurve.safeParse(algorithm.slice(ECDSA.length)).data : undefined;
}

/** Checks every member. OpenSSL then checks the key itself, such as that a point is on its curve. */
function readBlob(algorithm: string, blob: Buffer): SshKeyType {
  const reader = new SshReader(blob);
  const inner = reader.string().toString('latin1');
  if (inner !== algorithm) throw new MalformedSsh('is not of the type that the line says');
  const curve = curveOf(algorithm);
  if (curve) {
    readEcdsa(reader, curve);
    return 'ecdsa';
  }
  if (algorithm === 'ssh-rsa') {
    readRsa(reader);
    return 'rsa';
  }
  const point = reader.string();
  reader.end();
  if (point.length !== 32) throw new MalformedSsh(`has ${point.length} bytes; an Ed25519 key has 32`);
  importJwk({ kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') });
  return 'ed25519';
}

function readRsa(reader: SshReader): void {
  const [e, n] = [reader.positive(), reader.positive()];
  reader.end();
  const bits = n.length * 8 - Math.clz32(n[0] ?? 0) + 24;
  if (bits < MIN_RSA_BITS) throw new MalformedSsh(`has ${bits} bits; an RSA key must have at least ${MIN_RSA_BITS}`);
  if (bits > MAX_RSA_BITS) throw new MalformedSsh(`has ${bits} bits; an RSA key may have at most ${MAX_RSA_BITS}`);
  const isOdd = (number: Buffer) => ((number.at(-1) ?? 0) & 1) === 1;
  if (!isOdd(n) || !isOdd(e) || e.length > 8 || (e.length === 1 && e[0] === 1)) {
    throw new MalformedSsh('has numbers that are not valid for RSA');
  }
  importJwk({ kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') });
}

function readEcdsa(reader: SshReader, curve: EllipticCurve): void {
  const named = reader.string().toString('latin1');
  const point = reader.string();
  reader.end();
  const { jwk, bytes } = CURVES[curve];
  if (named !== curve) throw new MalformedSsh('is not on the curve that its type says');
  if (point[0] !== 4 || point.length !== 1 + 2 * bytes) throw new MalformedSsh('does not have an uncompressed point');
  const [x, y] = [point.subarray(1, 1 + bytes), point.subarray(1 + bytes)];
  importJwk({ kty: 'EC', crv: jwk, x: x.toString('base64url'), y: y.toString('base64url') });
}

function importJwk(key: { kty: string } & Record<string, string>): void {
  try {
    createPublicKey({ key, format: 'jwk' });
  } catch {
    throw new MalformedSsh('is not valid (its point is not on the curve, or its numbers do not fit)');
  }
}

const isSpace = (character: string | undefined) => character !== undefined && ' \t\r\n'.includes(character);

/** A .pub file ends with a newline. Not a regular expression, which would take quadratic time on runs of spaces. */
function withoutSpaceAround(text: string): string {
  let [from, to] = [0, text.length];
  while (isSpace(text[from])) from++;
  while (to > from && isSpace(text[to - 1])) to--;
  return text.slice(from, to);
}

/** As far as a schema can express it: the type, base64, and a comment without control characters. */
const LINE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a comment may not have
  /^[ \t\r\n]*(?:ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|ssh-rsa)[ \t]+[A-Za-z0-9+/]+=*(?:[ \t]+[^\u0000-\u0008\u000a-\u001f\u007f-\u009f]*)?[ \t\r\n]*$/;

/** A line as requests carry it; stored as it was sent. */
export const sshPublicKey = text()
  .max(MAX_PUBLIC_KEY_LENGTH, `must be at most ${MAX_PUBLIC_KEY_LENGTH} characters`)
  .superRefine((line, context) => {
    // Too long and already refused, but zod runs the later checks as well.
    if (line.length > MAX_PUBLIC_KEY_LENGTH) return;
    const parsed = parseSshPublicKey(line);
    if ('reason' in parsed) context.addIssue({ code: 'custom', message: parsed.reason });
  })
  .meta(
    pattern(
      LINE,
      'must be one line as in a .pub file of ssh-keygen: "ssh-ed25519 AAAA… comment"; also ecdsa-sha2-nistp256, -nistp384, -nistp521 and ssh-rsa',
    ),
  );

/** Private keys crafted to be slow to process are refused; similar keys that are harmless are accepted. */
import { createECDH, generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { readPrivateKey } from '../../../src/api/certificates/chain.ts';
import { bits, integer, none, octets, oddNumber, oid, pem, sequence, tagged } from './der.ts';

const OID = {
  rsa: '1.2.840.113549.1.1.1',
  rsaPss: '1.2.840.113549.1.1.10',
  ec: '1.2.840.10045.2.1',
  primeField: '1.2.840.10045.1.1',
  dsa: '1.2.840.10040.4.1',
  dh: '1.2.840.113549.1.3.1',
  dhx: '1.2.840.10046.2.1',
  p256: '1.2.840.10045.3.1.7',
  ed25519: '1.3.101.112',
  mlDsa44: '2.16.840.1.101.3.4.3.17',
};
const pkcs8 = (type: string, parameters: Buffer, ...key: Buffer[]) =>
  sequence(integer(0), sequence(oid(type), parameters), octets(...key));

const typeOrReason = (text: string) => {
  const read = readPrivateKey(text);
  return 'value' in read ? read.value.type : read.reason;
};

const OTHER_TYPE = 'it must be RSA, ECDSA or Ed25519';
const UNREADABLE = 'contains no readable private key';

/** OpenSSL would raise the generator to an exponent of 57,344 bits, which takes 16 s. */
const [prime, exponent, order] = [oddNumber(32_768), integer(oddNumber(57_344)), integer(oddNumber(256))];
const dsa = pkcs8(OID.dsa, sequence(integer(prime), order, integer(2)), exponent);
/** It would do the same for Diffie-Hellman, but accepts primes of at most 10,000 bits there: 3 s. */
const [dhPrime, dhExponent] = [oddNumber(9984), integer(oddNumber(80_000))];
const dh = pkcs8(OID.dh, sequence(integer(dhPrime), integer(2)), dhExponent);
const traditionalDsa = sequence(integer(0), integer(prime), order, integer(2), integer(2), exponent);

test.each([
  ['DSA', 'PRIVATE KEY', dsa, `is a key of type dsa; ${OTHER_TYPE}`],
  ['Diffie-Hellman', 'PRIVATE KEY', dh, `is a key of type dh; ${OTHER_TYPE}`],
  ['DSA that claims to be RSA', 'RSA PRIVATE KEY', dsa, `is a key of type dsa; ${OTHER_TYPE}`],
  ['DSA without PKCS #8', 'DSA PRIVATE KEY', traditionalDsa, 'is a DSA PRIVATE KEY, not a PRIVATE KEY'],
])('refuses a key that would keep OpenSSL busy for seconds: %s', (_, label, der, reason) => {
  expect(typeOrReason(pem(label, der))).toBe(reason);
});

test('refuses a key of an unknown type', () => {
  const key = pem('PRIVATE KEY', pkcs8(OID.mlDsa44, none()));
  expect(typeOrReason(key)).toBe(`is a key of an unknown type; ${OTHER_TYPE}`);
});

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwk = privateKey.export({ format: 'jwk' });
const MEMBERS = ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const satisfies (keyof JsonWebKey)[];
type Numbers = { [name in (typeof MEMBERS)[number]]?: Buffer };

/** A real key as PKCS #1, with some of its numbers replaced and with additional primes. */
const rsaWith = (numbers: Numbers, ...primes: Buffer[]) =>
  sequence(
    integer(primes.length === 0 ? 0 : 1),
    ...MEMBERS.map((name) => integer(numbers[name] ?? Buffer.from(jwk[name] ?? '', 'base64url'))),
    ...(primes.length === 0 ? [] : [sequence(...primes)]),
  );
const LONGER = 'is not a valid RSA key: one of its numbers is longer than its modulus';
const huge = oddNumber(40_960);
const small = integer(3);

test.each<[string, Buffer]>([
  ['its exponent', rsaWith({ d: huge })],
  ['its first prime', rsaWith({ p: huge, dp: huge })],
  ['the exponent of its first prime', rsaWith({ dp: huge })],
  ['its coefficient', rsaWith({ qi: huge })],
  ['the exponent, by one bit', rsaWith({ d: Buffer.concat([Buffer.from([1]), Buffer.alloc(256)]) })],
  ['a third prime', rsaWith({}, sequence(integer(huge), small, small))],
  [
    'the coefficient of a fourth prime',
    rsaWith({}, sequence(small, small, small), sequence(small, small, integer(huge))),
  ],
])('refuses an RSA key with a number longer than its modulus before using it: %s', (_, der) => {
  expect(typeOrReason(pem('RSA PRIVATE KEY', der))).toBe(LONGER);
  expect(typeOrReason(pem('PRIVATE KEY', pkcs8(OID.rsa, none(), der)))).toBe(LONGER);
});

test.each([
  ['numbers with leading zeros', rsaWith({ d: Buffer.concat([Buffer.alloc(300), oddNumber(2048)]) })],
  ['three primes', rsaWith({}, sequence(integer(oddNumber(680)), small, small))],
])('reads an RSA key with no number longer than its modulus: %s', (_, der) => {
  expect(typeOrReason(pem('RSA PRIVATE KEY', der))).toBe('rsa');
  expect(typeOrReason(pem('PRIVATE KEY', pkcs8(OID.rsa, none(), der)))).toBe('rsa');
});

const bytesOf = (hex: string) => Buffer.from(hex, 'hex');
const ecdh = createECDH('prime256v1');
ecdh.generateKeys();
const [scalar, point] = [octets(ecdh.getPrivateKey()), tagged(1, bits(ecdh.getPublicKey()))];
/** The parameters of P-256 (SEC 2, section 2.4.2), but over the given field. */
const explicitP256 = (field: Buffer) =>
  sequence(
    integer(1),
    sequence(oid(OID.primeField), integer(field)),
    sequence(
      octets(bytesOf('ffffffff00000001000000000000000000000000fffffffffffffffffffffffc')),
      octets(bytesOf('5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b')),
    ),
    octets(bytesOf('036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296')),
    integer(bytesOf('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551')),
    integer(1),
  );
const p256 = explicitP256(bytesOf('ffffffff00000001000000000000000000000000ffffffffffffffffffffffff'));
/** 1049041 · 2⁶⁴⁰ + 1 is a prime over which OpenSSL's square roots take a hundred thousand steps. */
const smooth = explicitP256(bytesOf(`1001d1${'0'.repeat(159)}1`));
const OWN_PARAMETERS = 'is an EC key with parameters of its own; it must be on P-256, P-384 or P-521';

test.each([
  [
    'SEC 1, with the name of the curve',
    'EC PRIVATE KEY',
    sequence(integer(1), scalar, tagged(0, oid(OID.p256)), point),
    'ecdsa',
  ],
  ['SEC 1, with its parameters', 'EC PRIVATE KEY', sequence(integer(1), scalar, tagged(0, p256), point), 'ecdsa'],
  ['PKCS #8, with its parameters', 'PRIVATE KEY', pkcs8(OID.ec, p256, sequence(integer(1), scalar, point)), 'ecdsa'],
  [
    'PKCS #8, under the label of SEC 1',
    'EC PRIVATE KEY',
    pkcs8(OID.ec, oid(OID.p256), sequence(integer(1), scalar)),
    'ecdsa',
  ],
  ['SEC 1, over another field', 'EC PRIVATE KEY', sequence(integer(1), scalar, tagged(0, smooth)), OWN_PARAMETERS],
  ['PKCS #8, over another field', 'PRIVATE KEY', pkcs8(OID.ec, smooth, sequence(integer(1), scalar)), OWN_PARAMETERS],
  [
    'PKCS #8 that names P-256, with a key over another field',
    'PRIVATE KEY',
    pkcs8(OID.ec, oid(OID.p256), sequence(integer(1), scalar, tagged(0, smooth))),
    OWN_PARAMETERS,
  ],
])('an EC key may spell out only the parameters of a supported curve: %s', (_, label, der, expected) => {
  expect(typeOrReason(pem(label, der))).toBe(expected);
});

test.each([
  ['EC as RSA', 'RSA PRIVATE KEY', pkcs8(OID.ec, oid(OID.p256), sequence(integer(1), scalar))],
  ['RSA as EC', 'EC PRIVATE KEY', rsaWith({})],
  ['PKCS #1 as PKCS #8', 'PRIVATE KEY', rsaWith({})],
  ['without a version', 'PRIVATE KEY', sequence(none(), sequence(oid(OID.rsa)), octets(rsaWith({})))],
  ['without a key', 'PRIVATE KEY', sequence(integer(0), sequence(oid(OID.rsa)))],
  ['NULL in place of an RSA key', 'PRIVATE KEY', pkcs8(OID.rsa, none(), none())],
  ['an empty Ed25519 key', 'PRIVATE KEY', pkcs8(OID.ed25519, none())],
  ['truncated', 'PRIVATE KEY', dsa.subarray(0, 1000)],
])('refuses what is not a readable key: %s', (_, label, der) => {
  expect(typeOrReason(pem(label, der))).toBe(UNREADABLE);
});

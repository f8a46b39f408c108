import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  b64,
  dssLine,
  ec,
  ecLine,
  ed25519Line,
  edwards,
  line,
  point,
  rsa,
  rsaLine,
} from '../../../dev/fixtures/ssh-keys.ts';
import { parseSshPublicKey, sshPublicKey } from '../../../src/resources/formats/ssh-public-key.ts';
import { mpint, string } from '../../../src/resources/formats/ssh-wire.ts';

const bytes25519 = edwards();
const ed25519 = ed25519Line(bytes25519);
const rsa2048 = rsa(2048);
const p256 = ec('prime256v1');
const modulus = b64(rsa2048.n);

describe('an SSH public key', () => {
  test.each([
    ['rsa', rsaLine(rsa2048)],
    ['rsa', rsaLine(rsa(3072))],
    ['ecdsa', ecLine('nistp256', point(p256))],
    ['ecdsa', ecLine('nistp384', point(ec('secp384r1')))],
    ['ecdsa', ecLine('nistp521', point(ec('secp521r1')))],
    ['ed25519', ed25519],
  ])('of type %s is read', (keyType, text) => {
    const [algorithm = '', encoded = ''] = text.split(' ');
    for (const written of [text, `${text} root@host`, `${text}\troot at host  with a long comment`]) {
      const blob = Buffer.from(encoded, 'base64');
      expect(parseSshPublicKey(written)).toEqual({ key: { keyType, algorithm, blob } });
    }
  });

  test('may end with a newline, as in its file', () => {
    expect(sshPublicKey.parse(`${ed25519} me\r\n`)).toBe(`${ed25519} me\r\n`);
  });

  test('that is too long is refused for its length alone', () => {
    const { error } = sshPublicKey.safeParse(`a${' '.repeat(1_000_000)}b`);
    expect(error?.issues.map(({ message }) => message)).toEqual(['must be at most 8192 characters']);
  });
});

describe('an unusable SSH public key is refused with a reason', () => {
  const encoded = ed25519.split(' ')[1] ?? '';
  const bytes = Buffer.from(encoded, 'base64');
  const even = Buffer.from(modulus);
  even.writeUInt8(even.readUInt8(even.length - 1) & 0xfe, even.length - 1);
  const offCurve = point(p256);
  offCurve.writeUInt8(offCurve.readUInt8(40) ^ 1, 40);
  const privateKey = '-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----';

  test.each([
    ['nothing', '', /one line like/],
    ['a type alone', 'ssh-ed25519', /no key after its type/],
    ['a type and a space', 'ssh-ed25519 ', /no key after/],
    ['another word', 'hello world', /its type must be ssh-ed25519/],
    ['options before it', `restrict ${ed25519}`, /without options/],
    ['two lines', `${ed25519}\n${ed25519}`, /several lines/],
    ['a DSA key', dssLine(modulus), /DSA key/],
    ['a key of a security token', line('sk-ssh-ed25519@openssh.com', string(bytes25519)), /security token/],
    ['an ECDSA security key', line('sk-ecdsa-sha2-nistp256@openssh.com', string(bytes25519)), /security token/],
    ['a certificate', line('ssh-ed25519-cert-v01@openssh.com', string(bytes25519)), /is a certificate/],
    ['an unknown curve', line('ecdsa-sha2-nistp224', string('nistp224')), /its type must be/],
    ['an Ed448 key', line('ssh-ed448', string(Buffer.alloc(57))), /its type must be/],
    ['a private key', privateKey, /is a private key/],
    ['a PEM public key', '-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----', /ssh-keygen -i/],
    ['an RFC 4716 key', '---- BEGIN SSH2 PUBLIC KEY ----\nAAAA', /ssh-keygen -i/],
    ['invalid base64', `ssh-ed25519 ${encoded.replace('A', '!')}`, /not base64/],
    ['base64 without its padding', `ssh-rsa ${Buffer.alloc(10).toString('base64').replace('==', '')}`, /not base64/],
    ['another type inside', `ssh-rsa ${encoded}`, /not of the type that the line says/],
    ['an inner type in capitals', `ssh-ed25519 ${string('SSH-ED25519').toString('base64')}`, /not of the type/],
    ['trailing bytes', `ssh-ed25519 ${Buffer.concat([bytes, Buffer.alloc(1)]).toString('base64')}`, /trailing data/],
    ['missing bytes', `ssh-ed25519 ${bytes.subarray(0, -1).toString('base64')}`, /truncated/],
    ['a length beyond the end', `ssh-ed25519 ${Buffer.from('ffffffff', 'hex').toString('base64')}`, /truncated/],
    ['31 bytes of Ed25519', line('ssh-ed25519', string(bytes25519.subarray(1))), /has 31 bytes/],
    ['33 bytes of Ed25519', line('ssh-ed25519', string(Buffer.alloc(33))), /has 33 bytes/],
    ['a point off the curve', ecLine('nistp256', offCurve), /not on the curve/],
    ['the point at infinity', ecLine('nistp256', Buffer.alloc(65, 0).fill(4, 0, 1)), /not on the curve/],
    ['a compressed point', ecLine('nistp256', Buffer.concat([Buffer.from([2]), b64(p256.x)])), /uncompressed/],
    ['a point that is too short', ecLine('nistp256', point(p256).subarray(0, 64)), /uncompressed/],
    ['a point of another curve', ecLine('nistp384', point(p256)), /uncompressed/],
    ['another curve inside', ecLine('nistp256', point(p256), 'nistp384'), /not on the curve/],
    ['an RSA key of 1024 bits', rsaLine(rsa(1024)), /1024 bits/],
    ['an RSA key of 2047 bits', line('ssh-rsa', mpint(Buffer.from([3])), mpint(Buffer.alloc(256, 0x7f))), /2047 bits/],
    ['an RSA key of 16392 bits', line('ssh-rsa', mpint(b64('AQAB')), mpint(Buffer.alloc(2049, 0xff))), /at most 16384/],
    ['an even modulus', line('ssh-rsa', mpint(b64('AQAB')), mpint(even)), /numbers that are not valid for RSA/],
    ['the exponent 1', line('ssh-rsa', mpint(Buffer.from([1])), mpint(modulus)), /numbers that are not valid/],
    ['an even exponent', line('ssh-rsa', mpint(Buffer.from([2])), mpint(modulus)), /numbers that are not valid/],
    ['the exponent 0', line('ssh-rsa', mpint(Buffer.from([0])), mpint(modulus)), /not positive/],
    ['a huge exponent', line('ssh-rsa', mpint(modulus), mpint(modulus)), /numbers that are not valid/],
    ['a negative modulus', line('ssh-rsa', mpint(b64('AQAB')), string(modulus)), /not positive/],
    [
      'a modulus with needless zeros',
      line('ssh-rsa', mpint(b64('AQAB')), string(Buffer.concat([Buffer.alloc(2), modulus]))),
      /shortest form/,
    ],
    ['too many characters', `${ed25519} ${'x'.repeat(8192)}`, /at most 8192/],
    ['a NUL', `${ed25519} a\u0000`, /NUL/],
    ['an escape in its comment', `${ed25519} a\u001b[2Jb`, /control characters/],
    ['a form feed after its type', ed25519.replace(' ', '\f'), /control characters/],
    ['a vertical tab in its comment', `${ed25519} a\u000bb`, /control characters/],
    ['a delete in its comment', `${ed25519} a\u007f`, /control characters/],
    ['a control character beyond ASCII', `${ed25519} a\u009b2J`, /control characters/],
  ])('%s', (_, text, reason) => {
    const issues = sshPublicKey.safeParse(text).error?.issues.map(({ message }) => message) ?? [];
    expect(issues.join('; ')).toMatch(reason);
  });

  test('that reveals nothing of a private key', () => {
    expect(JSON.stringify(sshPublicKey.safeParse(privateKey).error?.issues)).not.toContain('c2VjcmV0');
  });

  test('without ever throwing', () => {
    const types = fc.constantFrom('ssh-rsa', 'ssh-ed25519', 'ecdsa-sha2-nistp256', 'ssh-dss', '');
    const parts = fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 4 });
    fc.assert(
      fc.property(types, parts, (type, values) => {
        parseSshPublicKey(line(type, ...values.map((value) => string(Buffer.from(value)))));
      }),
      { numRuns: 500 },
    );
    fc.assert(fc.property(fc.string(), (text) => 'reason' in parseSshPublicKey(text)));
  });

  test('after any change of one byte of an ECDSA key', () => {
    const blob = Buffer.from(ecLine('nistp256', point(p256)).split(' ')[1] ?? '', 'base64');
    for (let at = 0; at < blob.length; at++) {
      const changed = Buffer.from(blob);
      changed.writeUInt8(blob.readUInt8(at) ^ 0x10, at);
      expect(parseSshPublicKey(`ecdsa-sha2-nistp256 ${changed.toString('base64')}`), `byte ${at}`).toHaveProperty(
        'reason',
      );
    }
  });
});

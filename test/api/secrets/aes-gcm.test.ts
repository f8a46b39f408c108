import { describe, expect, test } from 'vitest';
import { decrypt, encrypt } from '../../../src/api/secrets/aes-gcm.ts';

const KEY = Buffer.alloc(32, 7);

describe('encrypted text', () => {
  test.each(['', 'a', 'größer 🔑', 'x'.repeat(100_000)])('decrypts to the original', (text) => {
    expect(decrypt(encrypt(text, KEY, 'cr_1'), KEY, 'cr_1')).toBe(text);
  });

  test('is different each time', () => {
    expect(encrypt('a', KEY, 'cr_1')).not.toEqual(encrypt('a', KEY, 'cr_1'));
  });

  test('has the layout that existing databases hold: iv, tag, ciphertext', () => {
    const stored = Buffer.from('000102030405060708090a0bdfd060082f3d5bdc9d3bb0e03672010d7ff32ac6de96bc3b', 'hex');
    expect(decrypt(stored, KEY, 'cr_1')).toBe('größer');
  });
});

describe('decrypting fails', () => {
  const bytes = encrypt('secret', KEY, 'cr_1');

  test.each([
    ['under another key', bytes, Buffer.alloc(32, 8), 'cr_1'],
    ['when it is bound to another id', bytes, KEY, 'cr_2'],
    // The text is empty, so that the tag alone decides.
    ['with a tag cut short', encrypt('', KEY, 'cr_1').subarray(0, 16), KEY, 'cr_1'],
    ['for empty input', Buffer.alloc(0), KEY, 'cr_1'],
  ])('%s', (_, given, key, boundTo) => {
    expect(() => decrypt(given, key, boundTo)).toThrow();
  });

  test('whichever byte was changed', () => {
    for (const at of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      expect(() => decrypt(changed, KEY, 'cr_1'), `byte ${at}`).toThrow();
    }
  });
});
